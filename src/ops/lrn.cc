// LRN: each element over a power of the sum of squares of its neighbours' in the channels around it.
#include <cmath>

#include "kernels/parallel.h"
#include "kernels/window_squares.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lower_context.h"
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

double Power(double x, double y) { return std::pow(x, y); }

// data over base ^ beta, of data and sums of squares.
std::vector<kernels::MapStep> StepsOf(const LrnParam& p) {
  using kernels::MapOp;
  std::vector<kernels::MapStep> steps{{.op = MapOp::kLinear,
                                       .x = 1,
                                       .alpha = static_cast<float>(p.alpha / static_cast<double>(p.nsize)),
                                       .beta = static_cast<float>(p.knorm)}};
  if (p.beta == 0.75) {
    steps.push_back({.op = MapOp::kSqrt, .x = 2});
    steps.push_back({.op = MapOp::kSqrt, .x = 3});
    steps.push_back({.op = MapOp::kMul, .x = 3, .y = 4});
  } else {
    steps.push_back({.op = MapOp::kConstant, .alpha = static_cast<float>(p.beta)});
    steps.push_back({.op = MapOp::kFunction2, .x = 2, .y = 3, .function2 = Power});
  }
  steps.push_back({.op = MapOp::kDiv, .x = 0, .y = static_cast<std::uint8_t>(steps.size() + 1)});
  return steps;
}

bool Lower(LowerContext& c) {
  const auto& p = c.node().params<LrnParam>();
  const DType dtype = c.out_type(0).dtype;
  if (dtype == DType::kFloat64) return false;
  const Shape& shape = c.in_type(0).shape;
  const ValueId data = c.Cast(c.in(0), DType::kFloat32);
  const kernels::WindowSquares work{shape[0], shape[1], shape[2] * shape[3], (p.nsize - 1) / 2};
  const auto run = [work](const KernelOperands& operands) {
    work.Run(static_cast<const float*>(operands.input(0)), static_cast<float*>(operands.output()));
  };
  const TensorType type{DType::kFloat32, shape};
  const ValueId squares = c.Emit(KernelSpec{"window_squares", run}, {data}, type);
  c.SetOut(0, c.Cast(c.Emit(MapSpec{StepsOf(p)}, {data, squares}, type), dtype));
  return true;
}

ParamSchema<LrnParam> Schema() {
  return ParamSchema<LrnParam>()
      .Optional("alpha", &LrnParam::alpha, "Weight of the squares.")
      .Optional("beta", &LrnParam::beta, "The exponent.")
      .Optional("knorm", &LrnParam::knorm, "Added to the squares.")
      .Required("nsize", &LrnParam::nsize, "Number of channels in the window.")
      .Range(1, 2147483647);
}

// Of one instance: y_c = x_c b_c ^ -beta, where b_c = knorm + alpha / nsize * (sum of squares around c).
template <class T>
void Differentiate(const LrnParam& p, std::int64_t channels, std::int64_t places, const T* dy, const T* x, T* dx) {
  const std::int64_t reach = std::min((p.nsize - 1) / 2, channels);
  const double weight = p.alpha / static_cast<double>(p.nsize);
  const auto first = [&](std::int64_t c) { return std::max<std::int64_t>(0, c - reach); };
  const auto last = [&](std::int64_t c) { return std::min(channels - 1, c + reach); };
  std::vector<double> base(static_cast<std::size_t>(channels)), slope(base.size());
  for (std::int64_t i = 0; i < places; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) {
      double squares = 0;
      for (std::int64_t k = first(c); k <= last(c); ++k) {
        squares += static_cast<double>(x[k * places + i]) * static_cast<double>(x[k * places + i]);
      }
      base[c] = p.knorm + weight * squares;
      slope[c] = static_cast<double>(dy[c * places + i]) * static_cast<double>(x[c * places + i]) *
                 std::pow(base[c], -p.beta - 1);
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t k = first(c); k <= last(c); ++k) sum += slope[k];
      const double own = static_cast<double>(dy[c * places + i]) * std::pow(base[c], -p.beta);
      dx[c * places + i] = static_cast<T>(own - 2 * weight * p.beta * static_cast<double>(x[c * places + i]) * sum);
    }
  }
}

void BackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape& shape = in[1].shape();
  const std::int64_t channels = shape[1], places = shape[2] * shape[3];
  WithFloatType(in[1].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> dy = Numbers<T>(in[0]), x = Numbers<T>(in[1]);
    std::vector<T> dx(x.size());
    kernels::ParallelFor(shape[0], 1, [&](std::int64_t n) {
      const std::int64_t begin = n * channels * places;
      Differentiate(node.params<LrnParam>(), channels, places, dy.data() + begin, x.data() + begin, dx.data() + begin);
    });
    Store(dx, out[0]);
  });
}

void InferShape(ShapeRelation& r) {
  r.AllSame();
  if (r.in(0).rank_known() && r.in(0).rank() != 4) {
    FailAt(r.node(), "expected data of rank 4, got shape {}", r.in(0).ToString());
  }
}

[[maybe_unused]] const auto kBackward = RegisterOp<LrnParam>("_backward_LRN")
                                            .Doc("The gradient of LRN's data.")
                                            .Params(Schema())
                                            .Inputs({"gradient", "data"})
                                            .Set(ShapeRule{InferShape})
                                            .Set(SameFloatDType())
                                            .Set(AmpFacts{Arithmetic::kNeedsFloat32})
                                            .Set(NoGradient{"second derivatives of LRN are not implemented"})
                                            .Set(ReferenceKernel{BackwardReference});

[[maybe_unused]] const auto kCard =
    RegisterOp<LrnParam>("LRN")
        .Doc("data / (knorm + alpha / nsize * sum of squares over nsize channels around each) ^ beta.")
        .Params(Schema())
        .Inputs({"data"})
        .Set(ShapeRule{InferShape})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("_backward_LRN", {c.gradient(), c.in(0)}, c.attrs()));
        }})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp
