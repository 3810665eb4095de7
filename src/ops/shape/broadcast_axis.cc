// broadcast_axis, broadcast_to: repeat axes of size 1.
#include "ops/common/broadcast.h"
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::broadcast_axis {
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
  if (!r.in(0).rank_known()) return;
  Shape out = r.in(0);
  for (std::size_t i = 0; i < p.axis.size(); ++i) {
    const auto axis = NormalizeAxis(p.axis[i], out.rank());
    if (!axis || (r.in(0)[*axis] >= 0 && r.in(0)[*axis] != 1)) {
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
        .Set(MoveGradient())
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { BroadcastElements(in[0], out[0]); }})
        .Set(BroadcastByKernel());

struct BroadcastToParam {
  IntTuple shape;
};

// Aligned at the last axes. In the classic operator a 0 keeps the data's size.
void InferBroadcastTo(bool zero_keeps, ShapeRelation& r) {
  if (!r.in(0).rank_known()) return;
  Shape out(r.node().params<BroadcastToParam>().shape);
  if (out.rank() < r.in(0).rank()) FailAt(r.node(), "shape {} is shorter than {}", out.ToString(), r.in(0).ToString());
  const Shape data = AlignedRight(r.in(0), out.rank());
  for (int i = 0; i < out.rank(); ++i) {
    if (out[i] == 0 && zero_keeps) out[i] = data[i];
    if (data[i] >= 0 && data[i] != out[i] && data[i] != 1) {
      FailAt(r.node(), "data of shape {} cannot be broadcast to {}", r.in(0).ToString(), out.ToString());
    }
  }
  r.Out(0, out);
}

void ValidateBroadcastTo(BroadcastToParam& p) {
  for (const std::int64_t size : p.shape) {
    if (size < 0) Throw<GraphError>("attribute shape: {} is no size", size);
  }
}

OpDefinition<BroadcastToParam> Register(const char* name, const char* doc, bool zero_keeps) {
  return RegisterOp<BroadcastToParam>(name)
      .Doc(doc)
      .Params(ParamSchema<BroadcastToParam>().Optional("shape", &BroadcastToParam::shape, "Shape of the output."),
              ValidateBroadcastTo)
      .Inputs({"data"})
      .Set(ShapeRule{[zero_keeps](ShapeRelation& r) { InferBroadcastTo(zero_keeps, r); }})
      .Set(SameDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(MoveGradient())
      .Set(ReferenceKernel{
          [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { BroadcastElements(in[0], out[0]); }})
      .Set(BroadcastByKernel());
}

[[maybe_unused]] const auto kBroadcastTo =
    Register("broadcast_to", "Repeats axes of size 1 up to `shape`, where 0 keeps a size.", true);
[[maybe_unused]] const auto kNpiBroadcastTo =
    Register("_npi_broadcast_to", "Repeats axes of size 1 up to `shape`.", false).Alias("_np_broadcast_to");

}  // namespace
}  // namespace amp::broadcast_axis
