// Flatten: all axes but the first become one.
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::flatten {
namespace {

void InferShape(ShapeRelation& r) {
  if (!r.in(0).rank_known()) return;
  const Shape& data = r.in(0);
  if (data.rank() == 0) FailAt(r.node(), "expected data of rank 1 or more, got a scalar");
  Shape out{data[0], kUnknownDim};
  bool known = true;
  for (int i = 1; i < data.rank(); ++i) known = known && data[i] >= 0;
  if (known) out[1] = data.SizeOf(1, data.rank());
  r.Out(0, out);
}

[[maybe_unused]] const auto kCard =
    RegisterOp<NoParam>("Flatten")
        .Alias("flatten")
        .Alias("_npx_batch_flatten")
        .Doc("data (N, ...) as (N, K).")
        .Inputs({"data"})
        .Set(ShapeRule{InferShape})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(ReshapeGradient())
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { CopyElements(in[0], out[0]); }})
        .Set(IsView{.flattens = true});

}  // namespace
}  // namespace amp::flatten
