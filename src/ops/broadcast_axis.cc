// broadcast_axis: repeats axes of size 1.
#include "dnnl/lowering.h"
#include "dnnl/reference.h"
#include "ops/broadcast.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/amp_facts.h"

namespace amp {
namespace {

struct BroadcastAxisParam {
  IntTuple axis;
  IntTuple size;
};

void Validate(BroadcastAxisParam& p) {
  if (p.axis.size() != p.size.size()) Throw<GraphError>("{} axes and {} sizes", p.axis.size(), p.size.size());
  for (const std::int64_t size : p.size) {
    if (size < 0) Throw<GraphError>("attribute size: {} is negative", size);
  }
}

void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<BroadcastAxisParam>();
  if (!r.in(0).fully_known()) return;
  Shape out = r.in(0);
  for (std::size_t i = 0; i < p.axis.size(); ++i) {
    const auto axis = NormalizeAxis(p.axis[i], out.rank());
    if (!axis || r.in(0)[*axis] != 1) {
      FailAt(r.node(), "axis {} of data of shape {} cannot be repeated: it is not of size 1", p.axis[i],
             r.in(0).ToString());
    }
    out[*axis] = p.size[i];
  }
  r.Out(0, out);
}

[[maybe_unused]] const auto kCard =
    RegisterOp<BroadcastAxisParam>("broadcast_axis")
        .Alias("broadcast_axes")
        .Doc("Repeats axes of size 1 to the given sizes.")
        .Params(ParamSchema<BroadcastAxisParam>()
                    .Optional("axis", &BroadcastAxisParam::axis, "The axes; may be negative.")
                    .Optional("size", &BroadcastAxisParam::size, "Their new sizes."),
                Validate)
        .Inputs({"data"})
        .Set(ShapeRule{InferShape})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(ReferenceKernel{[](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
          BroadcastElements(in[0], out[0]);
        }});

}  // namespace
}  // namespace amp
