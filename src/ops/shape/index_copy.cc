// _contrib_index_copy: an array some rows of which are replaced.
#include <cstring>

#include "ops/common/gathers.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::index_copy {
namespace {

void InferShape(ShapeRelation& r) {
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  r.In(1, Shape{kUnknownDim});
  if (!r.in(0).rank_known()) return;
  if (r.in(0).rank() == 0) FailAt(r.node(), "expected old_tensor with rows, got a scalar");
  Shape rows = r.in(0);
  rows[0] = r.in(1)[0];
  r.In(2, rows);
  r.In(1, Shape{r.in(2)[0]});
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  CopyElements(in[0], out[0]);
  const Shape& shape = in[0].shape();
  const std::vector<std::int64_t> rows = Numbers<std::int64_t>(in[1]);
  const auto bytes = static_cast<std::size_t>(shape.SizeOf(1, shape.rank()) * BytesOf(in[0].dtype()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t row = rows[i] < 0 ? rows[i] + shape[0] : rows[i];
    if (row < 0 || row >= shape[0]) FailAtIndex(node.Describe(), rows[i], shape[0]);
    std::memcpy(out[0].As<char>() + static_cast<std::size_t>(row) * bytes, in[2].As<char>() + i * bytes, bytes);
  }
}

[[maybe_unused]] const auto kCard =
    RegisterOp<NoParam>("_contrib_index_copy")
        .Alias("_npx_index_copy")
        .Doc(
            "old_tensor with the rows of new_tensor at the positions index_vector, which count from either end; the "
            "last\n"
            "of equal positions counts.")
        .Inputs({"old_tensor", "index_vector", "new_tensor"})
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0, 2}, {0});
          if (!IsKnown(r.in(1))) r.In(1, DType::kInt64);
        }})
        .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIndex, SlotRole::kData}, AlwaysCommutes})
        // Each of equal positions counts as the last one, as in MXNet.
        .Set(GradientRule{[](GradientContext& c) {
          if (c.is_asked(0)) {
            const Term zeros = Unary("zeros_like", c.in(2));
            c.Set(0, c.Call("_contrib_index_copy", {c.gradient(), c.in(1), zeros}));
          }
          if (c.is_asked(2)) c.Set(2, c.Call("take", {c.gradient(), c.in(1)}, {{"mode", "wrap"}}));
        }})
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp::index_copy
