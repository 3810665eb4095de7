// masked_softmax and masked_log_softmax: over the elements that a mask lets through.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/common/broadcast.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/nn/softmax.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "passes/out_dtype.h"
#include "program/map_steps.h"
#include "program/reference.h"

namespace amp::masked_softmax {
namespace {

struct MaskedSoftmaxParam {
  std::int64_t axis = -1;
  double temperature = 1;
  bool normalize = true;
};

int Axis(const Node& node, const Shape& data) {
  return RequireAxis(node, node.params<MaskedSoftmaxParam>().axis, data);
}

void Validate(MaskedSoftmaxParam& p) {
  if (!(std::abs(p.temperature) > 0)) throw GraphError("attribute temperature: expected a number but 0");
}

void InferShape(ShapeRelation& r) {
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  if (!r.in(0).fully_known()) return;
  const Shape& data = r.in(0);
  Axis(r.node(), data);
  if (!r.in(1).rank_known()) r.In(1, data);
  if (!r.in(1).fully_known()) return;
  bool fits = r.in(1).rank() == data.rank();
  for (int i = 0; fits && i < data.rank(); ++i) fits = r.in(1)[i] == data[i] || r.in(1)[i] == 1;
  if (!fits) FailAt(r.node(), "mask of shape {} does not fit data of shape {}", r.in(1).ToString(), data.ToString());
}

// Elements that the mask hides become 0, or -inf as logarithms.
void Reference(const Node& node, bool logarithm, std::span<const NDArray> in, NDArray& out) {
  const auto& p = node.params<MaskedSoftmaxParam>();
  const Shape& shape = in[0].shape();
  const int axis = Axis(node, shape);
  const std::int64_t outer = shape.SizeOf(0, axis), size = shape[axis], inner = shape.SizeOf(axis + 1, shape.rank());
  NDArray mask(in[1].dtype(), shape);
  BroadcastElements(in[1], mask);
  const std::vector<double> shown = Numbers<double>(mask);
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    constexpr T kNothing = -std::numeric_limits<T>::infinity();
    std::vector<T> y = Numbers<T>(in[0]);
    for (std::int64_t line = 0; line < outer * inner; ++line) {
      const std::int64_t first = line / inner * size * inner + line % inner;
      const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(first + i * inner); };
      T largest = kNothing, sum{0};
      for (std::int64_t i = 0; i < size; ++i) {
        y[at(i)] = shown[at(i)] != 0 ? y[at(i)] / static_cast<T>(p.temperature) : kNothing;
        largest = std::max(largest, y[at(i)]);
      }
      if (largest == kNothing) largest = T{0};
      for (std::int64_t i = 0; i < size; ++i) sum += std::exp(y[at(i)] - largest);
      for (std::int64_t i = 0; i < size; ++i) {
        const T shifted = y[at(i)] - largest;
        if (shifted == kNothing) {
          y[at(i)] = logarithm ? kNothing : T{0};
        } else {
          y[at(i)] = logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum;
        }
      }
    }
    Store(y, out);
  });
}

// Hidden elements become -inf before the softmax.
bool LowerToKernel(LowerContext& c, bool logarithm) {
  using kernels::MapOp;
  const auto& p = c.node().params<MaskedSoftmaxParam>();
  const Shape& shape = c.in_type(0).shape;
  const auto max_rank = static_cast<int>(kernels::MapWalk::kMaxAxes) / 2;
  if (c.in_type(0).dtype == DType::kFloat64 || !IsMapOperand(c.in_type(1).dtype) || shape.rank() > max_rank)
    return false;
  NDArray nothing(DType::kFloat32, Shape(std::vector<std::int64_t>(static_cast<std::size_t>(shape.rank()), 1)));
  *nothing.As<float>() = -std::numeric_limits<float>::infinity();
  const std::vector<ValueId> inputs{c.Cast(c.in(0), DType::kFloat32), c.in(1), c.Constant(nothing, "nothing")};
  const std::vector<kernels::MapStep> steps{{MapOp::kLinear, 0, 0, 0, static_cast<float>(1 / p.temperature), 0},
                                            {MapOp::kSelect, 1, 3, 2}};
  const ValueId shown = c.Emit(MapSpec{steps}, inputs, {DType::kFloat32, shape});
  kernels::Softmax job;
  job.logarithm = logarithm;
  job.hides = true;
  return LowerToSoftmax(c, job, Axis(c.node(), shape), shown, kNoValue);
}

OpDefinition<MaskedSoftmaxParam> Register(const char* name, const char* doc, bool logarithm) {
  return RegisterOp<MaskedSoftmaxParam>(name)
      .Doc(doc)
      .Params(ParamSchema<MaskedSoftmaxParam>()
                  .Optional("axis", &MaskedSoftmaxParam::axis, "The axis to normalise; may be negative.")
                  .Optional("temperature", &MaskedSoftmaxParam::temperature, "The data is divided by it first.")
                  .Optional("normalize", &MaskedSoftmaxParam::normalize,
                            "Subtract the largest element before the exponential; always done here."),
              Validate)
      .Inputs({"data", "mask"})
      .Set(ShapeRule{InferShape})
      .Set(DTypeRule{[](DTypeRelation& r) {
        r.Same({0}, {0});
        r.InIsFloat(0);
        if (!IsKnown(r.in(1))) r.In(1, DType::kBool);
      }})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex}})
      .Set(ConstantRange(logarithm ? ValueRange{-ValueRange::kInfinity, 0} : ValueRange{0, 1}))
      .Set(DeclaresOutDType{})
      .Set(GradientRule{[logarithm](GradientContext& c) {
        const auto& p = c.params<MaskedSoftmaxParam>();
        c.Set(0, SoftmaxGradient(c, ValueOrZero(c.in(1), c.gradient()), p.axis, p.temperature, logarithm));
      }})
      .Set(ReferenceKernel{[logarithm](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        Reference(node, logarithm, in, out[0]);
      }})
      .Set(KernelRule{[logarithm](LowerContext& c) { return LowerToKernel(c, logarithm); }});
}

[[maybe_unused]] const auto kMaskedSoftmax =
    Register("masked_softmax", "Softmax over the elements whose mask is not 0; the others become 0.", false)
        .Alias("_npx_masked_softmax");
[[maybe_unused]] const auto kMaskedLogSoftmax =
    Register("masked_log_softmax", "The logarithm of masked_softmax.", true).Alias("_npx_masked_log_softmax");

}  // namespace
}  // namespace amp::masked_softmax
