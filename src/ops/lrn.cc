// LRN: each element over a power of the sum of squares of its neighbours' in the channels around it.
#include <cmath>

#include "kernels/parallel.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp {
namespace {

struct LrnParam {
  double alpha = 1e-4;
  double beta = 0.75;
  double knorm = 2;
  std::int64_t nsize = 0;
};

// An even nsize has a window of nsize - 1 channels, whose squares still count 1 / nsize each.
template <class T>
void Normalise(const LrnParam& p, std::int64_t channels, std::int64_t places, const T* x, T* y) {
  const std::int64_t reach = std::min((p.nsize - 1) / 2, channels);
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t first = std::max<std::int64_t>(0, c - reach), last = std::min(channels - 1, c + reach);
    for (std::int64_t i = 0; i < places; ++i) {
      double squares = 0;
      for (std::int64_t k = first; k <= last; ++k)
        squares += static_cast<double>(x[k * places + i]) * x[k * places + i];
      const double base = p.knorm + p.alpha / static_cast<double>(p.nsize) * squares;
      y[c * places + i] = static_cast<T>(x[c * places + i] * std::pow(base, -p.beta));
    }
  }
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<LrnParam>();
  const Shape& shape = in[0].shape();
  const std::int64_t channels = shape[1], places = shape[2] * shape[3];
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Numbers<T>(in[0]);
    std::vector<T> y(x.size());
    kernels::ParallelFor(shape[0], 1, [&](std::int64_t n) {
      Normalise(p, channels, places, x.data() + n * channels * places, y.data() + n * channels * places);
    });
    Store(y, out[0]);
  });
}

[[maybe_unused]] const auto kCard =
    RegisterOp<LrnParam>("LRN")
        .Doc("data / (knorm + alpha / nsize * sum of squares over nsize channels around each) ^ beta.")
        .Params(ParamSchema<LrnParam>()
                    .Optional("alpha", &LrnParam::alpha, "Weight of the squares.")
                    .Optional("beta", &LrnParam::beta, "The exponent.")
                    .Optional("knorm", &LrnParam::knorm, "Added to the squares.")
                    .Required("nsize", &LrnParam::nsize, "Number of channels in the window.")
                    .Range(1, 2147483647))
        .Inputs({"data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.AllSame();
          if (r.in(0).rank_known() && r.in(0).rank() != 4) {
            FailAt(r.node(), "expected data of rank 4, got shape {}", r.in(0).ToString());
          }
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp
