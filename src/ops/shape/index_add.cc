// _npx_index_add and _npx_index_update: an array with values added to, or put at, places that indices name.
#include <vector>

#include "ops/common/broadcast.h"
#include "ops/common/gathers.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::index_add {
namespace {

// What indices (M, K) select: K parts of the data behind its first M axes.
Shape Selected(const Node& node, const Shape& data, const Shape& indices) {
  if (indices.rank() != 2 || indices[0] < 1 || indices[0] > data.rank()) {
    FailAt(node, "indices of shape {} do not name axes of shape {}", indices.ToString(), data.ToString());
  }
  std::vector<std::int64_t> dims{indices[1]};
  dims.insert(dims.end(), data.dims().begin() + indices[0], data.dims().end());
  return Shape(std::move(dims));
}

void InferShape(ShapeRelation& r) {
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  if (!r.in(0).fully_known() || !r.in(1).fully_known() || !r.in(2).fully_known()) return;
  const Shape selected = Selected(r.node(), r.in(0), r.in(1)), &value = r.in(2);
  const Shape aligned = value.rank() > selected.rank() ? value : AlignedRight(value, selected.rank());
  bool fits = aligned.rank() == selected.rank();
  for (int i = 0; fits && i < selected.rank(); ++i) fits = aligned[i] == selected[i] || aligned[i] == 1;
  if (!fits) FailAt(r.node(), "val of shape {} does not fit {}", value.ToString(), selected.ToString());
}

// The first element of each part.
std::vector<std::int64_t> PlacesOf(const Node& node, const NDArray& indices, const Shape& data) {
  const std::vector<std::int64_t> given = Numbers<std::int64_t>(indices);
  const auto named = static_cast<int>(indices.shape()[0]);
  const std::int64_t count = indices.shape()[1];
  std::vector<std::int64_t> places(static_cast<std::size_t>(count), 0);
  for (int axis = 0; axis < named; ++axis) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = given[static_cast<std::size_t>(axis * count + i)], size = data[axis];
      if (index < -size || index >= size) FailAtIndex(node.Describe(), index, size);
      auto& place = places[static_cast<std::size_t>(i)];
      place = place * size + (index < 0 ? index + size : index);
    }
  }
  for (auto& place : places) place *= data.SizeOf(named, data.rank());
  return places;
}

template <bool kAdds>
void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape selected = Selected(node, in[0].shape(), in[1].shape());
  const std::vector<std::int64_t> places = PlacesOf(node, in[1], in[0].shape());
  const std::int64_t part = selected.SizeOf(1, selected.rank());
  WithNumberType(out[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> values = Numbers<T>(in[2]);
    std::vector<T> y = Numbers<T>(in[0]);
    BroadcastIndex value(in[2].shape(), selected);
    for (const std::int64_t place : places) {
      for (std::int64_t i = 0; i < part; ++i) {
        T& element = y[static_cast<std::size_t>(place + i)];
        element = static_cast<T>(kAdds ? element + values[value.Next()] : values[value.Next()]);
      }
    }
    Store(y, out[0]);
  });
}

// Each of equal places counts as the last one, as in MXNet.
void GradientOfUpdate(GradientContext& c) {
  if (c.is_asked(0)) {
    c.Set(0, c.Call("_npx_index_update", {c.gradient(), c.in(1), Unary("zeros_like", c.in(2))}));
  }
  if (c.is_asked(2)) c.Set(2, SumLike(c.Call("gather_nd", {c.gradient(), c.in(1)}), c.in(2)));
}

void GradientOfSum(GradientContext& c) {
  if (c.is_asked(0)) c.Set(0, c.gradient());
  if (c.is_asked(2)) c.Set(2, SumLike(c.Call("gather_nd", {c.gradient(), c.in(1)}), c.in(2)));
}

OpDefinition<NoParam> Register(const char* name, const char* doc) {
  return RegisterOp<NoParam>(name)
      .Doc(doc)
      .Inputs({"a", "ind", "val"})
      .Set(ShapeRule{InferShape})
      .Set(DTypeRule{[](DTypeRelation& r) {
        r.Same({0, 2}, {0});
        if (!IsKnown(r.in(1))) r.In(1, DType::kInt64);
      }});
}

[[maybe_unused]] const auto kAdd =
    Register("_npx_index_add",
             "a with val added at a[ind[0], ..., ind[M - 1]]; equal places get every part of val, which is broadcast.")
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex, SlotRole::kData}})
        .Set(GradientRule{GradientOfSum})
        .Set(ReferenceKernel{Reference<true>});

[[maybe_unused]] const auto kUpdate =
    Register("_npx_index_update",
             "a with val at a[ind[0], ..., ind[M - 1]]; of equal places the last one counts, and val is broadcast.")
        .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIndex, SlotRole::kData}, AlwaysCommutes})
        .Set(GradientRule{GradientOfUpdate})
        .Set(ReferenceKernel{Reference<false>});

}  // namespace
}  // namespace amp::index_add
