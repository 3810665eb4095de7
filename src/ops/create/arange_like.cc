// _contrib_arange_like: counts along the shape of its input.
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::arange_like {
namespace {

struct ArangeLikeParam {
  double start = 0;
  double step = 1;
  std::int64_t repeat = 1;
  std::optional<std::int64_t> axis;
};

void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<ArangeLikeParam>();
  if (!r.in(0).rank_known()) return;
  if (!p.axis) return r.Out(0, r.in(0));
  const auto axis = NormalizeAxis(*p.axis, r.in(0).rank());
  if (!axis) FailAt(r.node(), "axis {} does not exist in data of shape {}", *p.axis, r.in(0).ToString());
  r.Out(0, Shape{r.in(0)[*axis]});
}

void Count(const ArangeLikeParam& p, NDArray& out) {
  std::vector<double> values(out.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = p.start + p.step * static_cast<double>(static_cast<std::int64_t>(i) / p.repeat);
  }
  Store(values, out);
}

[[maybe_unused]] const auto kCard =
    RegisterOp<ArangeLikeParam>("_contrib_arange_like")
        .Alias("_npx_arange_like")
        .Doc("start + step * (i / repeat), as many as the data has elements (axis None) or its axis is long.")
        .Params(ParamSchema<ArangeLikeParam>()
                    .Optional("start", &ArangeLikeParam::start, "The first value.")
                    .Optional("step", &ArangeLikeParam::step, "The difference of neighbours.")
                    .Optional("repeat", &ArangeLikeParam::repeat, "Each value occurs this often.")
                    .Range(1, 1 << 30)
                    .Ignored("ctx")
                    .Optional("axis", &ArangeLikeParam::axis, "Whose length counts; None: the data's shape."))
        .Inputs({"data"})
        .Set(ShapeRule{InferShape})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kIndex}, nullptr, true})
        .Set(RangeRule{[](const RangeQuery& q, int) {
          const auto& p = q.node.params<ArangeLikeParam>();
          if (!(q.OutSize() > 0)) return ValueRange{-ValueRange::kInfinity, ValueRange::kInfinity, false};
          return Steps(p.start, p.step, std::floor((q.OutSize() - 1) / static_cast<double>(p.repeat)));
        }})
        .Set(ZeroGradient{"it depends on the shape alone"})
        .Set(ReadsShapesOnly{})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray>, std::span<NDArray> out) {
          Count(node.params<ArangeLikeParam>(), out[0]);
        }})
        .Set(ValuesOfReference());

}  // namespace
}  // namespace amp::arange_like
