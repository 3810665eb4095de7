// Correlation: how patches of one feature map resemble patches of another one nearby.
#include <cmath>

#include "kernels/threads/parallel.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::correlation {
namespace {

struct CorrelationParam {
  std::int64_t kernel_size = 1, max_displacement = 1, stride1 = 1, stride2 = 1, pad_size = 0;
  bool is_multiply = true;
};

void Validate(CorrelationParam& p) {
  if (p.kernel_size % 2 == 0) Throw<GraphError>("attribute kernel_size: expected an odd size, got {}", p.kernel_size);
}

ParamSchema<CorrelationParam> Schema() {
  return ParamSchema<CorrelationParam>()
      .Optional("kernel_size", &CorrelationParam::kernel_size, "Height and width of patches, odd.")
      .Range(1, 1 << 15)
      .Optional("max_displacement", &CorrelationParam::max_displacement, "How far patches may lie apart.")
      .Range(0, 1 << 15)
      .Optional("stride1", &CorrelationParam::stride1, "Between patches of data1.")
      .Range(1, 1 << 15)
      .Optional("stride2", &CorrelationParam::stride2, "Between displacements.")
      .Range(1, 1 << 15)
      .Optional("pad_size", &CorrelationParam::pad_size, "Zeros around both maps.")
      .Range(0, 1 << 15)
      .Optional("is_multiply", &CorrelationParam::is_multiply, "Mean product; else mean absolute difference.");
}

// Sizes of a use.
struct Sizes {
  std::int64_t batch, channels, height, width;  // of the data
  std::int64_t grid;                            // displacements along an axis
  std::int64_t out_height, out_width;

  static Sizes Of(const CorrelationParam& p, const Shape& data) {
    const std::int64_t border = p.max_displacement + (p.kernel_size - 1) / 2;
    const auto places = [&](std::int64_t size) {
      return (size + 2 * p.pad_size - 2 * border + p.stride1 - 1) / p.stride1;
    };
    return {data[0],         data[1],        data[2], data[3], p.max_displacement / p.stride2 * 2 + 1,
            places(data[2]), places(data[3])};
  }
  std::int64_t displacements() const { return grid * grid; }
  std::int64_t outputs() const { return displacements() * out_height * out_width; }  // of one image
};

void InferShape(ShapeRelation& r) {
  r.In(0, Shape{kUnknownDim, kUnknownDim, kUnknownDim, kUnknownDim});
  r.In(1, r.in(0));
  r.In(0, r.in(1));
  if (!r.in(0).fully_known()) return;
  const Sizes s = Sizes::Of(r.node().params<CorrelationParam>(), r.in(0));
  if (s.out_height < 1 || s.out_width < 1) {
    FailAt(r.node(), "data of shape {} is smaller than patches and displacements", r.in(0).ToString());
  }
  r.Out(0, Shape{s.batch, s.displacements(), s.out_height, s.out_width});
}

// Calls f(output, element of data1, element of data2) for every term of an image's outputs. An element in the padding
// is -1.
template <class F>
void ForEachTerm(const CorrelationParam& p, const Sizes& s, std::int64_t image, F&& f) {
  const std::int64_t radius = p.max_displacement / p.stride2;
  const auto place = [&](std::int64_t channel, std::int64_t row, std::int64_t column) {
    row -= p.pad_size;
    column -= p.pad_size;
    const bool inside = row >= 0 && row < s.height && column >= 0 && column < s.width;
    return inside ? ((image * s.channels + channel) * s.height + row) * s.width + column : std::int64_t{-1};
  };
  for (std::int64_t i = 0; i < s.outputs(); ++i) {
    const std::int64_t displacement = i / (s.out_height * s.out_width);
    const std::int64_t row = i / s.out_width % s.out_height * p.stride1 + p.max_displacement;
    const std::int64_t column = i % s.out_width * p.stride1 + p.max_displacement;
    const std::int64_t down = (displacement / s.grid - radius) * p.stride2;
    const std::int64_t across = (displacement % s.grid - radius) * p.stride2;
    for (std::int64_t k = 0; k < p.kernel_size * p.kernel_size; ++k) {
      const std::int64_t y = row + k / p.kernel_size, x = column + k % p.kernel_size;
      for (std::int64_t channel = 0; channel < s.channels; ++channel) {
        f(image * s.outputs() + i, place(channel, y, x), place(channel, y + down, x + across));
      }
    }
  }
}

template <class T>
T At(const std::vector<T>& x, std::int64_t place) {
  return place < 0 ? T{0} : x[static_cast<std::size_t>(place)];
}

double TermsOf(const CorrelationParam& p, const Sizes& s) {
  return static_cast<double>(p.kernel_size * p.kernel_size * s.channels);
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<CorrelationParam>();
  const Sizes s = Sizes::Of(p, in[0].shape());
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> a = Numbers<T>(in[0]), b = Numbers<T>(in[1]);
    std::vector<T> y(static_cast<std::size_t>(out[0].size()), T{0});
    kernels::ParallelFor(s.batch, 1, [&](std::int64_t image) {
      ForEachTerm(p, s, image, [&](std::int64_t at, std::int64_t left, std::int64_t right) {
        const T l = At(a, left), r = At(b, right);
        y[static_cast<std::size_t>(at)] += p.is_multiply ? l * r : std::abs(l - r);
      });
    });
    for (T& value : y) value /= static_cast<T>(TermsOf(p, s));
    Store(y, out[0]);
  });
}

// Inputs: gradient, data1, data2. Where both are equal, the difference counts as positive.
void BackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<CorrelationParam>();
  const Sizes s = Sizes::Of(p, in[1].shape());
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> dy = Numbers<T>(in[0]), a = Numbers<T>(in[1]), b = Numbers<T>(in[2]);
    std::vector<T> da(a.size(), T{0}), db(b.size(), T{0});
    const T scale = static_cast<T>(1 / TermsOf(p, s));
    kernels::ParallelFor(s.batch, 1, [&](std::int64_t image) {
      ForEachTerm(p, s, image, [&](std::int64_t at, std::int64_t left, std::int64_t right) {
        const T l = At(a, left), r = At(b, right), gradient = dy[static_cast<std::size_t>(at)] * scale;
        const T sign = l >= r ? T{1} : T{-1};
        if (left >= 0) da[static_cast<std::size_t>(left)] += gradient * (p.is_multiply ? r : sign);
        if (right >= 0) db[static_cast<std::size_t>(right)] += gradient * (p.is_multiply ? l : -sign);
      });
    });
    if (out[0].defined()) Store(da, out[0]);
    if (out[1].defined()) Store(db, out[1]);
  });
}

[[maybe_unused]] const auto kBackward = RegisterOp<CorrelationParam>("_backward_Correlation")
                                            .Doc("The gradients of Correlation's data1 and data2.")
                                            .Params(Schema(), Validate)
                                            .Inputs({"gradient", "data1", "data2"})
                                            .Outputs({"data1", "data2"})
                                            .VisibleOutputs([](const CorrelationParam&) { return 2; })
                                            .Set(ShapeRule{[](ShapeRelation& r) {
                                              std::vector<Shape> in{r.in(1), r.in(2)}, out{r.in(0)};
                                              ShapeRelation forward(r.node(), in, out);
                                              InferShape(forward);
                                              r.In(0, out[0]);
                                              for (int i = 0; i < 2; ++i) {
                                                r.In(i + 1, in[static_cast<std::size_t>(i)]);
                                                r.Out(i, in[static_cast<std::size_t>(i)]);
                                              }
                                            }})
                                            .Set(SameFloatDType())
                                            .Set(AmpFacts{Arithmetic::kNeedsFloat32})
                                            .Set(NoGradient{"second derivatives of Correlation are not implemented"})
                                            .Set(ReferenceKernel{BackwardReference});

[[maybe_unused]] const auto kCard =
    RegisterOp<CorrelationParam>("Correlation")
        .Doc("Of each patch of data1 (N, C, H, W): its mean product with patches of data2 at all displacements.")
        .Params(Schema(), Validate)
        .Inputs({"data1", "data2"})
        .Set(ShapeRule{InferShape})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{[](GradientContext& c) {
          const std::vector<Term> gradients =
              c.CallAll("_backward_Correlation", {c.gradient(), c.in(0), c.in(1)}, c.attrs());
          for (int i = 0; i < 2; ++i) c.Set(i, gradients[static_cast<std::size_t>(i)]);
        }})
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp::correlation
