// L2Normalization: data divided by the square root of its sum of squares.
#include <cmath>

#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/reduce_rules.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/map_steps.h"
#include "program/reference.h"

namespace amp::l2_normalization {
namespace {

struct L2NormalizationParam {
  double eps = 1e-10;
  std::string mode = "instance";
};

// The data as (lines, elements of a line, lines that lie side by side).
struct Lines {
  std::int64_t outer, size, inner;
};

Lines LinesOf(const L2NormalizationParam& p, const Shape& data) {
  const int rank = data.rank();
  if (p.mode == "channel") return {data[0], data[1], data.SizeOf(2, rank)};
  if (p.mode == "spatial") return {data[0] * data[1], data.SizeOf(2, rank), 1};
  return {data[0], data.SizeOf(1, rank), 1};
}

void InferShape(ShapeRelation& r) {
  r.AllSame();
  const int least = r.node().params<L2NormalizationParam>().mode == "instance" ? 1 : 3;
  if (r.in(0).rank_known() && r.in(0).rank() < least) {
    FailAt(r.node(), "expected data of rank {} or more, got shape {}", least, r.in(0).ToString());
  }
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<L2NormalizationParam>();
  const Lines lines = LinesOf(p, in[0].shape());
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> y = Numbers<T>(in[0]);
    for (std::int64_t line = 0; line < lines.outer * lines.inner; ++line) {
      T* x = y.data() + line / lines.inner * lines.size * lines.inner + line % lines.inner;
      double squares = p.eps;
      for (std::int64_t i = 0; i < lines.size; ++i) {
        squares += static_cast<double>(x[i * lines.inner]) * static_cast<double>(x[i * lines.inner]);
      }
      const double norm = std::sqrt(squares);
      for (std::int64_t i = 0; i < lines.size; ++i) {
        x[i * lines.inner] = static_cast<T>(static_cast<double>(x[i * lines.inner]) / norm);
      }
    }
    Store(y, out[0]);
  });
}

// Sums of squares, then one pass over the data that divides by their roots.
bool LowerToKernel(LowerContext& c) {
  using kernels::MapOp;
  const auto& p = c.node().params<L2NormalizationParam>();
  const TensorType& out = c.out_type(0);
  if (!IsMapResult(out.dtype)) return false;
  const Lines lines = LinesOf(p, out.shape);
  const Shape shape{lines.outer, lines.size, lines.inner};
  const ValueId data = c.Reshape(c.in(0), shape);
  const auto op = kernels::ReduceOp::kSumOfSquares;
  const ValueId squares =
      EmitReduce(c, data, op, kernels::ReduceEpilogue::kNone, {false, true, false}, DType::kFloat32);
  const std::vector<kernels::MapStep> steps{
      {MapOp::kLinear, 1, 0, 0, 1, static_cast<float>(p.eps)}, {MapOp::kSqrt, 2}, {MapOp::kDiv, 0, 3}};
  c.SetOut(0, c.Reshape(c.Emit(MapSpec{steps}, {data, squares}, {out.dtype, shape}), out.shape));
  return true;
}

[[maybe_unused]] const auto kCard =
    RegisterOp<L2NormalizationParam>("L2Normalization")
        .Doc("data / sqrt(sum of squares + eps).")
        .Params(ParamSchema<L2NormalizationParam>()
                    .Optional("eps", &L2NormalizationParam::eps, "Added to the sum.")
                    .Range(0)
                    .Optional("mode", &L2NormalizationParam::mode,
                              "What is summed: all of an instance, its channels at one place, or one channel's places.")
                    .OneOf({"instance", "channel", "spatial"}))
        .Inputs({"data"})
        .Set(ShapeRule{InferShape})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(ConstantRange({-1, 1}))
        .Set(GradientRule{[](GradientContext& c) {
          const auto& p = c.params<L2NormalizationParam>();
          AttrMap attrs{{"axis", p.mode == "channel" ? "1" : p.mode == "spatial" ? "(0, 1)" : "0"}, {"keepdims", "1"}};
          if (p.mode != "channel") attrs["exclude"] = "1";
          const auto sum = [&](const Term& x) { return c.Call("sum", {x}, attrs); };
          const Term norm = Unary("sqrt", sum(Unary("square", c.in(0))) + p.eps);
          c.Set(0, (c.gradient() - c.out() * sum(c.gradient() * c.out())) / norm);
        }})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{LowerToKernel});

}  // namespace
}  // namespace amp::l2_normalization
