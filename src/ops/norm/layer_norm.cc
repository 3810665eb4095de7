// LayerNorm: each line along an axis normalised to mean 0 and variance 1.
#include <cmath>

#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/norm/row_norm_gradient.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::layer_norm {
namespace {

struct LayerNormParam {
  std::int64_t axis = -1;
  double eps = 1e-5;
  bool output_mean_var = false;
};

int Axis(const Node& node, const Shape& data) { return RequireAxis(node, node.params<LayerNormParam>().axis, data); }

void InferShape(ShapeRelation& r) {
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  if (!r.in(0).rank_known()) return;
  const int axis = Axis(r.node(), r.in(0));
  r.In(1, Shape{r.in(0)[axis]});
  r.In(2, Shape{r.in(0)[axis]});
  Shape statistics = r.in(0);
  statistics[axis] = 1;
  r.Out(1, statistics);
  r.Out(2, statistics);
}

// gamma and beta have the dtype of the data, as in MXNet, or stay float32 beside data of low precision.
void InferDType(DTypeRelation& r) {
  r.Same({0}, {0, 1, 2});
  r.InIsFloat(0);
  for (int i = 1; i < 3; ++i) {
    if (r.in(i) != DType::kFloat32 || !IsLowPrecision(r.in(0))) r.In(i, r.in(0));
  }
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<LayerNormParam>();
  const Shape& shape = in[0].shape();
  const int axis = Axis(node, shape);
  const std::int64_t outer = shape.SizeOf(0, axis), size = shape[axis], inner = shape.SizeOf(axis + 1, shape.rank());
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> gamma = Numbers<T>(in[1]), beta = Numbers<T>(in[2]);
    std::vector<T> y = Numbers<T>(in[0]), means(static_cast<std::size_t>(outer * inner)), deviations(means.size());
    for (std::int64_t line = 0; line < outer * inner; ++line) {
      T* x = y.data() + line / inner * size * inner + line % inner;
      double sum = 0, squares = 0;
      for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(x[i * inner]);
      const double mean = sum / static_cast<double>(size);
      for (std::int64_t i = 0; i < size; ++i) {
        squares += (static_cast<double>(x[i * inner]) - mean) * (static_cast<double>(x[i * inner]) - mean);
      }
      const double deviation = std::sqrt(squares / static_cast<double>(size) + p.eps);
      for (std::int64_t i = 0; i < size; ++i) {
        x[i * inner] = static_cast<T>((static_cast<double>(x[i * inner]) - mean) / deviation) * gamma[i] + beta[i];
      }
      means[line] = static_cast<T>(mean);
      deviations[line] = static_cast<T>(deviation);
    }
    if (out[0].defined()) Store(y, out[0]);
    if (out[1].defined()) Store(means, out[1]);
    if (out[2].defined()) Store(deviations, out[2]);
  });
}

bool Lower(LowerContext& c) {
  const auto& p = c.node().params<LayerNormParam>();
  const Shape& shape = c.in_type(0).shape;
  const int rank = shape.rank();
  if (Axis(c.node(), shape) != rank - 1 || rank < 2 || rank > 5) return false;
  const auto gamma = c.Cast(c.in(1), DType::kFloat32), beta = c.Cast(c.in(2), DType::kFloat32);
  c.SetOut(0, c.Emit(LayerNormSpec{static_cast<float>(p.eps)}, {c.in(0), gamma, beta}, c.out_type(0)));
  return true;
}

[[maybe_unused]] const auto kCard =
    RegisterOp<LayerNormParam>("LayerNorm")
        .Alias("_npx_layer_norm")
        .Doc("(data - mean) / sqrt(variance + eps) * gamma + beta along `axis`.")
        .Params(ParamSchema<LayerNormParam>()
                    .Optional("axis", &LayerNormParam::axis, "The axis; may be negative.")
                    .Optional("eps", &LayerNormParam::eps, "Added to the variance.")
                    .Range(0)
                    .Optional("output_mean_var", &LayerNormParam::output_mean_var,
                              "Mean and standard deviation are visible outputs."))
        .Inputs({"data", "gamma", "beta"})
        .Outputs({"output", "mean", "std"})
        .VisibleOutputs([](const LayerNormParam& p) { return p.output_mean_var ? 3 : 1; })
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{InferDType})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kStatistic, SlotRole::kStatistic}})
        .Set(GradientRule{[](GradientContext& c) {
          const auto& p = c.params<LayerNormParam>();
          SetNormGradients(c, "_backward_LayerNorm", {{"axis", PrintAttr(p.axis)}, {"eps", PrintAttr(p.eps)}});
        }})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

}  // namespace
}  // namespace amp::layer_norm
