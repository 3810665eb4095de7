// One element of each line of an array, named by an index: pick, batch_take.
#include <algorithm>
#include <cstring>

#include "ops/common/gathers.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::pick {
namespace {

AmpFacts FactsOfPick() { return {Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIndex}, AlwaysCommutes}; }

// The data without the axis, or with a size of 1 there. Without axes it has one of size 1.
Shape Reduced(const Shape& data, int axis, bool keepdims) {
  std::vector<std::int64_t> dims = data.dims();
  if (keepdims || dims.size() == 1) {
    dims[axis] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  return Shape(dims);
}

std::int64_t InRange(std::int64_t index, std::int64_t size, bool wrap) {
  return wrap ? (index % size + size) % size : std::clamp<std::int64_t>(index, 0, size - 1);
}

void Pick(const NDArray& data, const NDArray& index, int axis, bool wrap, NDArray& out) {
  const std::int64_t size = data.shape()[axis], inner = data.shape().SizeOf(axis + 1, data.shape().rank());
  const auto bytes = static_cast<std::size_t>(BytesOf(data.dtype()));
  const std::vector<std::int64_t> indices = Numbers<std::int64_t>(index);
  for (std::size_t line = 0; line < indices.size(); ++line) {
    const auto l = static_cast<std::int64_t>(line);
    const std::int64_t from = (l / inner * size + InRange(indices[line], size, wrap)) * inner + l % inner;
    std::memcpy(out.As<char>() + line * bytes, data.As<char>() + from * bytes, bytes);
  }
}

bool LowerPick(LowerContext& c, int axis, bool wrap) {
  const Shape& data = c.in_type(0).shape;
  const std::int64_t size = data[axis], inner = data.SizeOf(axis + 1, data.rank());
  const GatherShape shape{0, 1, c.in_type(1).shape.size(), static_cast<std::size_t>(BytesOf(c.in_type(0).dtype))};
  return LowerToGather(c, shape, BringInRange(c, wrap ? OutOfRange::kWrap : OutOfRange::kClip, size),
                       [=](const std::int64_t* numbers, std::int64_t line) {
                         return (line / inner * size + numbers[line]) * inner + line % inner;
                       });
}

void RefuseEmpty(const Node& node, const Shape& data, int axis) {
  if (data[axis] == 0) FailAt(node, "nothing to pick from axis {} of data of shape {}", axis, data.ToString());
}

struct PickParam {
  std::optional<std::int64_t> axis = -1;
  bool keepdims = false;
  std::string mode = "clip";
};

int AxisOf(const Node& node, const PickParam& p, const Shape& data) {
  if (!p.axis) FailAt(node, "axis=None is not supported, as in MXNet");
  return RequireAxis(node, *p.axis, data);
}

void InferPick(ShapeRelation& r) {
  if (!r.in(0).rank_known()) return;
  const auto& p = r.node().params<PickParam>();
  const int axis = AxisOf(r.node(), p, r.in(0));
  RefuseEmpty(r.node(), r.in(0), axis);
  // The index may have the axis that is left out of the output, or lack one that is kept.
  const bool index_keeps = r.in(1).rank_known() ? r.in(1).rank() == r.in(0).rank() : p.keepdims;
  r.In(1, Reduced(r.in(0), axis, index_keeps));
  r.Out(0, Reduced(r.in(0), axis, p.keepdims));
}

[[maybe_unused]] const auto kPick =
    RegisterOp<PickParam>("pick")
        .Alias("choose_element_0index")
        .Alias("_npx_pick")
        .Doc("One element of each line along an axis: the one that the index names.")
        .Params(ParamSchema<PickParam>()
                    .Optional("axis", &PickParam::axis, "The axis; may be negative.")
                    .Optional("keepdims", &PickParam::keepdims, "The axis stays, with size 1.")
                    .Optional("mode", &PickParam::mode, "What becomes of indices that are out of range.")
                    .OneOf({"clip", "wrap"}))
        .Inputs({"data", "index"})
        .Set(ShapeRule{InferPick})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0}, {0});
          if (!IsKnown(r.in(1))) r.In(1, DType::kFloat32);
        }})
        .Set(FactsOfPick())
        .Set(MoveGradient())
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<PickParam>();
          Pick(in[0], in[1], AxisOf(node, p, in[0].shape()), p.mode == "wrap", out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) {
          const auto& p = c.node().params<PickParam>();
          return LowerPick(c, AxisOf(c.node(), p, c.in_type(0).shape), p.mode == "wrap");
        }});

void InferBatchTake(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  const Shape& data = r.in(0);
  if (data.rank() < 2) FailAt(r.node(), "expected a of rank 2 or more, got {}", data.ToString());
  RefuseEmpty(r.node(), data, data.rank() - 1);
  r.In(1, Reduced(data, data.rank() - 1, false));
  r.Out(0, r.in(1));
}

[[maybe_unused]] const auto kBatchTake =
    RegisterOp<NoParam>("batch_take")
        .Doc("One element of each line along the last axis: the one that the index names, or the nearest.")
        .Inputs({"a", "indices"})
        .Set(ShapeRule{InferBatchTake})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0}, {0});
          r.In(1, DType::kInt32);
        }})
        .Set(FactsOfPick())
        .Set(NoGradient{"MXNet has none"})
        .Set(ReferenceKernel{[](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
          Pick(in[0], in[1], in[0].shape().rank() - 1, false, out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) { return LowerPick(c, c.in_type(0).shape.rank() - 1, false); }});

}  // namespace
}  // namespace amp::pick
