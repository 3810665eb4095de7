// Elements at other places along each axis: tile, repeat, reverse.
#include <algorithm>
#include <cstring>
#include <functional>

#include "ops/common/broadcast.h"
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/partial_shape.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::repeat {
namespace {

// For each axis of the output and each position along it: the position in the input.
using Sources = std::vector<std::vector<std::int64_t>>;

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

void CopyFrom(const NDArray& in, const Sources& sources, NDArray& out) {
  const int rank = in.shape().rank();
  const auto bytes = static_cast<std::size_t>(BytesOf(in.dtype()));
  std::vector<std::size_t> index(sources.size(), 0);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    std::int64_t source = 0;
    for (int a = 0; a < rank; ++a) source = source * in.shape()[a] + sources[a][index[a]];
    std::memcpy(out.As<char>() + i * bytes, in.As<char>() + source * bytes, bytes);
    for (std::size_t a = sources.size(); a-- > 0 && ++index[a] == sources[a].size();) index[a] = 0;
  }
}

Sources Everything(const Shape& shape) {
  Sources sources;
  for (const std::int64_t size : shape.dims()) {
    sources.emplace_back();
    for (std::int64_t i = 0; i < size; ++i) sources.back().push_back(i);
  }
  return sources;
}

std::int64_t Grown(const Node& node, std::int64_t size, std::int64_t times) {
  if (times > kMaxElements || size * times > kMaxElements)
    FailAt(node, "{} times {} elements are too many", times, size);
  return size * times;
}

struct TileParam {
  IntTuple reps;
};

// Shape and repetitions are aligned at their last axes.
Shape AsRead(const TileParam& p, const Shape& data) {
  return AlignedRight(data, std::max(data.rank(), static_cast<int>(p.reps.size())));
}

std::int64_t Repetitions(const TileParam& p, int axis, int rank) {
  const int missing = rank - static_cast<int>(p.reps.size());
  return axis < missing ? 1 : p.reps[axis - missing];
}

Shape NewShape(const Node& node, const TileParam& p, const Shape& data) {
  Shape out = AsRead(p, data);
  for (int i = 0; i < out.rank(); ++i) out[i] = Grown(node, out[i], Repetitions(p, i, out.rank()));
  return out;
}

Sources SourcesOf(const Node& node, const TileParam& p, const Shape& data) {
  Sources sources = Everything(NewShape(node, p, data));
  for (int a = 0; a < data.rank(); ++a) {
    for (auto& position : sources[a]) position %= data[a];
  }
  return sources;
}

Move MoveOf(const Node& node, const TileParam& p, const Shape& data) {
  const std::vector<std::int64_t> from = RowMajorStrides(data), to = RowMajorStrides(NewShape(node, p, data));
  Move move;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const int axis = static_cast<int>(i);
    move.axes.push_back({Repetitions(p, axis, data.rank()), 0, data[axis] * to[i]});
    move.axes.push_back({data[axis], from[i], to[i]});
  }
  return move;
}

struct RepeatParam {
  std::int64_t repeats = 1;
  std::optional<std::int64_t> axis;
};

Shape AsRead(const RepeatParam& p, const Shape& data) { return p.axis ? data : Shape{data.size()}; }

int AxisOf(const Node& node, const RepeatParam& p, const Shape& data) {
  return RequireAxis(node, p.axis.value_or(0), data);
}

Shape NewShape(const Node& node, const RepeatParam& p, const Shape& data) {
  Shape out = AsRead(p, data);
  const int axis = AxisOf(node, p, out);
  out[axis] = Grown(node, out[axis], p.repeats);
  return out;
}

Sources SourcesOf(const Node& node, const RepeatParam& p, const Shape& data) {
  Sources sources = Everything(NewShape(node, p, data));
  for (auto& position : sources[AxisOf(node, p, data)]) position /= p.repeats;
  return sources;
}

Move MoveOf(const Node& node, const RepeatParam& p, const Shape& data) {
  const std::vector<std::int64_t> from = RowMajorStrides(data), to = RowMajorStrides(NewShape(node, p, data));
  Move move;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t times = static_cast<int>(i) == AxisOf(node, p, data) ? p.repeats : 1;
    move.axes.push_back({data[static_cast<int>(i)], from[i], times * to[i]});
    move.axes.push_back({times, 0, to[i]});
  }
  return move;
}

struct ReverseParam {
  IntTuple axis;
};

Shape AsRead(const ReverseParam&, const Shape& data) { return data; }
Shape NewShape(const Node& node, const ReverseParam& p, const Shape& data) {
  for (const std::int64_t axis : p.axis) RequireAxis(node, axis, data);
  return data;
}

std::vector<bool> TurnedAxes(const ReverseParam& p, const Shape& data) {
  std::vector<bool> turned(data.rank(), false);
  for (const std::int64_t axis : p.axis) turned[static_cast<std::size_t>(*NormalizeAxis(axis, data.rank()))] = true;
  return turned;
}

Sources SourcesOf(const Node&, const ReverseParam& p, const Shape& data) {
  Sources sources = Everything(data);
  const std::vector<bool> turned = TurnedAxes(p, data);
  for (std::size_t a = 0; a < turned.size(); ++a) {
    if (turned[a]) std::reverse(sources[a].begin(), sources[a].end());
  }
  return sources;
}

Move MoveOf(const Node&, const ReverseParam& p, const Shape& data) {
  std::vector<std::int64_t> from = RowMajorStrides(data);
  const std::vector<bool> turned = TurnedAxes(p, data);
  std::int64_t first = 0;
  for (std::size_t a = 0; a < turned.size(); ++a) {
    if (!turned[a]) continue;
    first += (data[static_cast<int>(a)] - 1) * from[a];
    from[a] = -from[a];
  }
  return MoveTo(data, from, first);
}

// An operator that gives the new shape and, for the kernel, the input as it is read (same elements).
template <class P>
OpDefinition<P> Register(const char* name, const char* doc, ParamSchema<P> schema,
                         std::function<void(P&)> validate = nullptr) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(std::move(schema), std::move(validate))
      .Inputs({"data"})
      .Set(ShapeRule{[](ShapeRelation& r) {
        const auto& p = r.node().params<P>();
        r.Out(0, PartialShape(r.in(0), [&](const Shape& data) { return NewShape(r.node(), p, data); }));
      }})
      .Set(SameDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(MoveGradient())
      .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        const auto& p = node.params<P>();
        const NDArray data = in[0].Reshaped(AsRead(p, in[0].shape()));
        CopyFrom(data, SourcesOf(node, p, data.shape()), out[0]);
      }})
      .Set(KernelRule{[](LowerContext& c) {
        const auto& p = c.node().params<P>();
        return LowerToMove(c, MoveOf(c.node(), p, AsRead(p, c.in_type(0).shape)));
      }});
}

void ValidateTile(TileParam& p) {
  for (const std::int64_t times : p.reps) {
    if (times < 0) Throw<GraphError>("attribute reps: {} is negative", times);
  }
}

[[maybe_unused]] const auto kTile =
    Register<TileParam>("tile", "The data side by side, reps[i] times along axis i.",
                        ParamSchema<TileParam>().Required("reps", &TileParam::reps,
                                                          "How often; aligned with the axes at the last one."),
                        ValidateTile)
        .Alias("_npi_tile");

[[maybe_unused]] const auto kRepeat =
    Register<RepeatParam>("repeat", "Each element `repeats` times in a row.",
                          ParamSchema<RepeatParam>()
                              .Required("repeats", &RepeatParam::repeats, "How often.")
                              .Range(1, 1 << 30)
                              .Optional("axis", &RepeatParam::axis, "Along which axis; None: the data is flattened."))
        .Alias("_npi_repeat")
        .Alias("_np_repeat");

[[maybe_unused]] const auto kReverse =
    Register<ReverseParam>(
        "reverse", "The elements in reverse order along each of the axes.",
        ParamSchema<ReverseParam>().Required("axis", &ReverseParam::axis, "The axes; may be negative."))
        .Alias("flip")
        .Alias("_npi_flip");

}  // namespace
}  // namespace amp::repeat
