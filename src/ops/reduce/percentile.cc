// _npi_percentile: the values below which given parts of the elements along axes lie.
#include <algorithm>
#include <cmath>

#include "ops/common/axes.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::percentile {
namespace {

struct PercentileParam {
  std::optional<IntTuple> axis;
  std::string interpolation = "linear";
  bool keepdims = false;
  std::optional<double> q_scalar;
};

void Validate(PercentileParam& p) {
  if (p.q_scalar && !(*p.q_scalar >= 0 && *p.q_scalar <= 100)) {
    Throw<GraphError>("attribute q_scalar: expected a value in [0, 100], got {}", *p.q_scalar);
  }
}

// The percentages are the first axis where there are several.
void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<PercentileParam>();
  if (!r.in(0).rank_known()) return;
  const std::vector<bool> named = NamedAxes(r.node(), p.axis, r.in(0).rank(), true);
  std::vector<std::int64_t> dims = WithoutAxes(r.in(0), named, p.keepdims, true).dims();
  if (r.in(0).fully_known() && SizeAlong(r.in(0), named) == 0) {
    FailAt(r.node(), "data of shape {} has no percentiles", r.in(0).ToString());
  }
  if (!p.q_scalar) {
    if (!r.in(1).rank_known()) return;
    if (r.in(1).rank() > 1) FailAt(r.node(), "expected q of rank 0 or 1, got shape {}", r.in(1).ToString());
    if (r.in(1).rank() == 1) dims.insert(dims.begin(), r.in(1)[0]);
  }
  r.Out(0, Shape(dims));
}

// The element at a place between elements; the nearest to the middle is the one above.
double ElementAt(const std::vector<double>& sorted, double place, const std::string& interpolation) {
  const double below = std::floor(place), above = std::ceil(place);
  const double low = sorted[below], high = sorted[above];
  if (interpolation == "lower") return low;
  if (interpolation == "higher") return high;
  if (interpolation == "midpoint") return (low + high) / 2;
  if (interpolation == "nearest") return sorted[std::round(place)];
  return low + (high - low) * (place - below);
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<PercentileParam>();
  const std::vector<bool> named = NamedAxes(node, p.axis, in[0].shape().rank(), true);
  const std::vector<double> percentages = p.q_scalar ? std::vector<double>{*p.q_scalar} : Numbers<double>(in[1]);
  for (const double q : percentages) {
    if (!(q >= 0 && q <= 100)) FailAt(node, "expected q in [0, 100], got {}", q);
  }
  const std::int64_t count = WithoutAxes(in[0].shape(), named, false, true).size();
  std::vector<double> y(out[0].size());
  ForEachRow<double>(in[0], named, [&](std::int64_t row, const double* x, std::int64_t size) {
    std::vector<double> sorted(x, x + size);
    const bool has_nan = std::any_of(x, x + size, [](double v) { return std::isnan(v); });
    if (!has_nan) std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < percentages.size(); ++i) {
      const double place = percentages[i] / 100 * static_cast<double>(size - 1);
      y[i * static_cast<std::size_t>(count) + static_cast<std::size_t>(row)] =
          has_nan ? std::nan("") : ElementAt(sorted, place, p.interpolation);
    }
  });
  Store(y, out[0]);
}

[[maybe_unused]] const auto kCard =
    RegisterOp<PercentileParam>("_npi_percentile")
        .Doc("Percentiles over axes, (q, ...) where q is a vector; float64 of float64, else float32.")
        .Params(ParamSchema<PercentileParam>()
                    .Optional("axis", &PercentileParam::axis, "The axes; None: all.")
                    .Optional("interpolation", &PercentileParam::interpolation, "The value between two elements.")
                    .OneOf({"linear", "lower", "higher", "midpoint", "nearest"})
                    .Optional("keepdims", &PercentileParam::keepdims, "Reduced axes stay, with size 1.")
                    .Optional("q_scalar", &PercentileParam::q_scalar, "The percentage; None: there is an input q."),
                Validate)
        .Inputs([](const PercentileParam& p) {
          return p.q_scalar ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "q"};
        })
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{[](DTypeRelation& r) {
          if (r.num_inputs() > 1 && !IsKnown(r.in(1))) r.In(1, DType::kFloat32);
          if (IsKnown(r.in(0))) r.Out(0, r.in(0) == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32);
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex}})
        .Set(NoGradient{"MXNet has none"})
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp::percentile
