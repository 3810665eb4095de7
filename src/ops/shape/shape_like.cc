// The data in the shape of another array: slice_like, reshape_like, broadcast_like. Also shape_array and size_array.
#include <algorithm>
#include <cstring>

#include "ops/common/broadcast.h"
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::shape_like {
namespace {

// The second input is there for its shape only; its dtype is its own.
DTypeRule DTypeOfFirst() {
  return {[](DTypeRelation& r) {
    r.Same({0}, {0});
    if (!IsKnown(r.in(1))) r.In(1, r.in(0));
  }};
}

AmpFacts FactsOfLike() { return {Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIgnored}, AlwaysCommutes}; }

int Normal(const Node& node, std::int64_t axis, const Shape& shape) {
  const auto normal = NormalizeAxis(axis, shape.rank());
  if (!normal) FailAt(node, "axis {} does not exist in shape {}", axis, shape.ToString());
  return *normal;
}

struct SliceLikeParam {
  IntTuple axes;
};

void InferSliceLike(ShapeRelation& r) {
  if (!r.in(0).rank_known() || !r.in(1).rank_known()) return;
  const Shape &data = r.in(0), &like = r.in(1);
  IntTuple axes = r.node().params<SliceLikeParam>().axes;
  if (axes.empty()) {
    if (data.rank() != like.rank()) {
      FailAt(r.node(), "expected arrays of one rank, got {} and {}", data.ToString(), like.ToString());
    }
    for (int i = 0; i < data.rank(); ++i) axes.push_back(i);
  }
  Shape out = data;
  for (const std::int64_t given : axes) {
    const int axis = Normal(r.node(), given, data), other = Normal(r.node(), given, like);
    if (data[axis] >= 0 && like[other] > data[axis]) {
      FailAt(r.node(), "axis {} of data {} is shorter than that of {}", given, data.ToString(), like.ToString());
    }
    out[axis] = like[other];
  }
  r.Out(0, out);
}

void SliceLikeReference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape &from = in[0].shape(), &to = out[0].shape();
  const auto bytes = static_cast<std::size_t>(BytesOf(in[0].dtype()));
  std::vector<std::int64_t> index(to.rank(), 0);
  for (std::int64_t i = 0; i < out[0].size(); ++i) {
    std::int64_t source = 0;
    for (int a = 0; a < to.rank(); ++a) source = source * from[a] + index[a];
    std::memcpy(out[0].As<char>() + i * bytes, in[0].As<char>() + source * bytes, bytes);
    for (int a = to.rank(); a-- > 0 && ++index[a] == to[a];) index[a] = 0;
  }
}

[[maybe_unused]] const auto kSliceLike =
    RegisterOp<SliceLikeParam>("slice_like")
        .Alias("_npx_slice_like")
        .Doc("The front of data, as long as shape_like along the given axes.")
        .Params(ParamSchema<SliceLikeParam>().Optional("axes", &SliceLikeParam::axes, "The axes; empty: all."))
        .Inputs({"data", "shape_like"})
        .Set(ShapeRule{InferSliceLike})
        .Set(DTypeOfFirst())
        .Set(FactsOfLike())
        .Set(MoveGradient())
        .Set(CutsArray{[](const Node&, const Shape& data, const Shape&) {
          return IntTuple(static_cast<std::size_t>(data.rank()), 0);
        }})
        .Set(ReferenceKernel{SliceLikeReference})
        .Set(LowerRule{[](LowerContext& c) {
          const SliceSpec work{std::vector<std::int64_t>(static_cast<std::size_t>(c.out_type(0).shape.rank()), 0)};
          c.SetOut(0, c.Emit(work, {c.in(0)}, c.out_type(0)));
          return true;
        }})
        .Set(KernelRule{[](LowerContext& c) {
          return LowerToMove(c, MoveTo(c.out_type(0).shape, RowMajorStrides(c.in_type(0).shape)));
        }});

struct ReshapeLikeParam {
  std::optional<std::int64_t> lhs_begin, lhs_end, rhs_begin, rhs_end;
};

// Axes [begin, end) of an array, as Python counts them.
struct Part {
  int begin, end;
};

Part PartOf(const Node& node, std::optional<std::int64_t> begin, std::optional<std::int64_t> end, const Shape& shape) {
  const std::int64_t rank = shape.rank();
  const auto limit = [&](std::int64_t position) {
    const std::int64_t wrapped = position < 0 ? position + rank : position;
    if (wrapped < 0 || wrapped > rank)
      FailAt(node, "position {} does not exist in shape {}", position, shape.ToString());
    return static_cast<int>(wrapped);
  };
  const Part part{limit(begin.value_or(0)), limit(end.value_or(rank))};
  if (part.begin > part.end) FailAt(node, "positions {} to {} are no range of axes", part.begin, part.end);
  return part;
}

void InferReshapeLike(ShapeRelation& r) {
  if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
  const auto& p = r.node().params<ReshapeLikeParam>();
  const Part lhs = PartOf(r.node(), p.lhs_begin, p.lhs_end, r.in(0));
  const Part rhs = PartOf(r.node(), p.rhs_begin, p.rhs_end, r.in(1));
  const auto &from = r.in(0).dims(), &like = r.in(1).dims();
  std::vector<std::int64_t> dims(from.begin(), from.begin() + lhs.begin);
  dims.insert(dims.end(), like.begin() + rhs.begin, like.begin() + rhs.end);
  dims.insert(dims.end(), from.begin() + lhs.end, from.end());
  if (Shape(dims).size() != r.in(0).size()) {
    FailAt(r.node(), "data of shape {} cannot become {}", r.in(0).ToString(), Shape(dims).ToString());
  }
  r.Out(0, Shape(dims));
}

[[maybe_unused]] const auto kReshapeLike =
    RegisterOp<ReshapeLikeParam>("reshape_like")
        .Alias("_npx_reshape_like")
        .Doc("The elements of lhs, axes [lhs_begin, lhs_end) replaced by axes [rhs_begin, rhs_end) of rhs.")
        .Params(ParamSchema<ReshapeLikeParam>()
                    .Optional("lhs_begin", &ReshapeLikeParam::lhs_begin, "First axis of lhs; None: 0.")
                    .Optional("lhs_end", &ReshapeLikeParam::lhs_end, "Axis behind the last; None: all that follow.")
                    .Optional("rhs_begin", &ReshapeLikeParam::rhs_begin, "First axis of rhs; None: 0.")
                    .Optional("rhs_end", &ReshapeLikeParam::rhs_end, "Axis behind the last; None: all that follow."))
        .Inputs({"lhs", "rhs"})
        .Set(ShapeRule{InferReshapeLike})
        .Set(DTypeOfFirst())
        .Set(FactsOfLike())
        .Set(ReshapeGradient())
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { CopyElements(in[0], out[0]); }})
        .Set(IsView{});

struct BroadcastLikeParam {
  std::optional<IntTuple> lhs_axes, rhs_axes;
};

void InferBroadcastLike(ShapeRelation& r) {
  if (!r.in(0).rank_known() || !r.in(1).rank_known()) return;
  const auto& p = r.node().params<BroadcastLikeParam>();
  const Shape &data = r.in(0), &like = r.in(1);
  const bool has_axes = p.lhs_axes || p.rhs_axes;
  IntTuple from = p.lhs_axes.value_or(IntTuple()), to = p.rhs_axes.value_or(IntTuple());
  if (has_axes && from.empty() && to.empty()) FailAt(r.node(), "lhs_axes and rhs_axes name no axes");
  for (int i = 0; !has_axes && i < data.rank(); ++i) {
    from.push_back(i);
    to.push_back(i);
  }
  if (from.size() != to.size() || (!has_axes && data.rank() != like.rank())) {
    FailAt(r.node(), "the axes of {} and {} do not correspond", data.ToString(), like.ToString());
  }
  Shape out = data;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const int axis = Normal(r.node(), from[i], data), other = Normal(r.node(), to[i], like);
    if (data[axis] >= 0 && like[other] >= 0 && data[axis] != 1 && data[axis] != like[other]) {
      FailAt(r.node(), "axis {} of {} cannot be broadcast to axis {} of {}", axis, data.ToString(), other,
             like.ToString());
    }
    out[axis] = like[other];
  }
  r.Out(0, out);
}

[[maybe_unused]] const auto kBroadcastLike =
    RegisterOp<BroadcastLikeParam>("broadcast_like")
        .Alias("_npx_broadcast_like")
        .Doc("Repeats axes of size 1 of lhs to the sizes of rhs.")
        .Params(ParamSchema<BroadcastLikeParam>()
                    .Optional("lhs_axes", &BroadcastLikeParam::lhs_axes, "Axes of lhs; None: all.")
                    .Optional("rhs_axes", &BroadcastLikeParam::rhs_axes, "The axes of rhs that they follow."))
        .Inputs({"lhs", "rhs"})
        .Set(ShapeRule{InferBroadcastLike})
        .Set(DTypeOfFirst())
        .Set(FactsOfLike())
        .Set(MoveGradient())
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { BroadcastElements(in[0], out[0]); }})
        .Set(BroadcastByKernel());

[[maybe_unused]] const auto kIdentityLike =
    RegisterOp<NoParam>("_identity_with_attr_like_rhs")
        .Doc("lhs, which has the shape and the dtype of rhs.")
        .Inputs({"lhs", "rhs"})
        .Set(SameShape())
        .Set(SameDType())
        .Set(FactsOfLike())
        .Set(GradientRule{[](GradientContext& c) { c.Set(0, c.gradient()); }})
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { CopyElements(in[0], out[0]); }})
        .Set(IsView{});

// What an array is, in int64.
ValueRange RangeOf(IntTuple (*values)(const Shape&), const Shape& shape) {
  if (!shape.fully_known()) return {0, ValueRange::kInfinity, true};
  const IntTuple all = values(shape);
  if (all.empty()) return ValueRange::Of(0);
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  return {static_cast<double>(*low), static_cast<double>(*high), true};
}
OpDefinition<NoParam> Register(const char* name, const char* doc, Shape (*shape)(const Shape&),
                               IntTuple (*values)(const Shape&)) {
  return RegisterOp<NoParam>(name)
      .Doc(doc)
      .Inputs({"data"})
      .Set(ShapeRule{[shape](ShapeRelation& r) {
        if (r.in(0).rank_known()) r.Out(0, shape(r.in(0)));
      }})
      .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, DType::kInt64); }})
      .Set(AmpFacts{Arithmetic::kMovesData})
      .Set(RangeRule{[values](const RangeQuery& q, int) { return RangeOf(values, q.in_types[0]->shape); }})
      .Set(ZeroGradient{"it depends on the shape alone"})
      .Set(ReadsShapesOnly{})
      .Set(ReferenceKernel{[values](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
        Store(values(in[0].shape()), out[0]);
      }})
      .Set(ValuesOfReference());
}

[[maybe_unused]] const auto kSizeArray = Register(
    "size_array", "The number of the data's elements as an array of int64.", [](const Shape&) { return Shape{1}; },
    [](const Shape& shape) { return IntTuple{shape.size()}; });

[[maybe_unused]] const auto kShapeArray =
    Register(
        "shape_array", "The shape of the data as an array of int64.",
        [](const Shape& shape) { return Shape{shape.rank()}; }, [](const Shape& shape) { return shape.dims(); })
        .Alias("_npx_shape_array");

}  // namespace
}  // namespace amp::shape_like
