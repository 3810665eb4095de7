// Elements that change places along axes: _npi_roll, _npi_rot90.
#include <algorithm>
#include <utility>

#include "ops/common/index_maps.h"
#include "ops/common/moves.h"
#include "ops/common/partial_shape.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::roll {
namespace {

template <class P>
OpDefinition<P> Register(const char* name, const char* doc, ParamSchema<P> schema) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(std::move(schema))
      .Inputs({"data"})
      .Set(ShapeRule{[](ShapeRelation& r) {
        const auto& p = r.node().params<P>();
        r.Out(0, PartialShape(r.in(0), [&](const Shape& data) { return NewShape(r.node(), p, data); }));
      }})
      .Set(SameDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(MoveGradient())
      .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        Relocate(node, node.params<P>(), in[0], out[0]);
      }})
      .Set(KernelRule{[](LowerContext& c) { return Lower(c, c.node().params<P>()); }});
}

struct RollParam {
  std::optional<IntTuple> shift, axis;
};

// How far each axis is shifted, in [0, its size).
Index ShiftsOf(const Node& node, const RollParam& p, const Shape& data) {
  Index shifts(static_cast<std::size_t>(data.rank()), 0);
  std::vector<bool> seen(shifts.size());
  const IntTuple &shift = *p.shift, &axes = *p.axis;
  if (shift.size() != axes.size() && shift.size() != 1) {
    FailAt(node, "{} shifts do not fit {} axes", shift.size(), axes.size());
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(RequireAxis(node, axes[i], data));
    if (seen[axis]) FailAt(node, "axis {} occurs twice", axis);
    seen[axis] = true;
    const std::int64_t size = std::max<std::int64_t>(1, data[static_cast<int>(axis)]);
    shifts[axis] = (shift[shift.size() == 1 ? 0 : i] % size + size) % size;
  }
  return shifts;
}

Shape NewShape(const Node& node, const RollParam& p, const Shape& data) {
  if (!p.shift || p.shift->empty()) FailAt(node, "attribute shift is missing");
  if (p.axis) {
    ShiftsOf(node, p, data);
  } else if (p.shift->size() != 1) {
    FailAt(node, "without an axis there is one shift, got {}", p.shift->size());
  }
  return data;
}

void Relocate(const Node& node, const RollParam& p, const NDArray& in, NDArray& out) {
  if (!p.axis) {
    const Shape flat{in.size()};
    NDArray line = out.Reshaped(flat);
    return Relocate(node, {p.shift, IntTuple{0}}, in.Reshaped(flat), line);
  }
  const Shape& shape = in.shape();
  const Index shifts = ShiftsOf(node, p, shape);
  FromPlaces(in, in, out, [&](const Index& index) {
    Index from = index;
    for (int a = 0; a < shape.rank(); ++a) {
      const auto i = static_cast<std::size_t>(a);
      from[i] = index[i] - shifts[i] + (index[i] < shifts[i] ? shape[a] : 0);
    }
    return PlaceOf(from, shape);
  });
}

// Along each axis that is shifted the array falls into two parts.
bool Lower(LowerContext& c, const RollParam& p) {
  const Shape shape = p.axis ? c.in_type(0).shape : Shape{c.in_type(0).shape.size()};
  const Index shifts = ShiftsOf(c.node(), p.axis ? p : RollParam{p.shift, IntTuple{0}}, shape);
  const std::vector<std::int64_t> strides = RowMajorStrides(shape);
  std::vector<Move> moves{{}};
  for (std::size_t a = 0; a < shifts.size(); ++a) {
    const std::int64_t size = shape[static_cast<int>(a)], shift = shifts[a], stride = strides[a];
    std::vector<Move> split;
    for (Move& move : moves) {
      Move end = move;
      move.axes.push_back({size - shift, stride, stride});
      move.first_to += shift * stride;
      split.push_back(move);
      if (shift == 0) continue;
      end.axes.push_back({shift, stride, stride});
      end.first_from += (size - shift) * stride;
      split.push_back(end);
    }
    moves = std::move(split);
  }
  c.SetOut(0, EmitMoves(c, {c.in(0)}, moves, c.out_type(0)));
  return true;
}

[[maybe_unused]] const auto kRoll =
    Register<RollParam>("_npi_roll", "Shifts elements along axes; those that leave at the end come in at the front.",
                        ParamSchema<RollParam>()
                            .Optional("shift", &RollParam::shift, "How far: one number, or one for each axis.")
                            .Optional("axis", &RollParam::axis, "Which axes; None: the data as one line."))
        .Alias("_np_roll");

struct Rot90Param {
  std::int64_t k = 1;
  std::optional<IntTuple> axes;
};

std::pair<int, int> PlaneOf(const Node& node, const Rot90Param& p, const Shape& data) {
  if (!p.axes || p.axes->size() != 2) FailAt(node, "expected attribute axes with two axes");
  const int first = RequireAxis(node, (*p.axes)[0], data), second = RequireAxis(node, (*p.axes)[1], data);
  if (first == second) FailAt(node, "axis {} occurs twice", first);
  return {first, second};
}

int Quarters(const Rot90Param& p) { return static_cast<int>((p.k % 4 + 4) % 4); }

Shape NewShape(const Node& node, const Rot90Param& p, const Shape& data) {
  const auto [first, second] = PlaneOf(node, p, data);
  Shape out = data;
  if (Quarters(p) % 2 == 1) std::swap(out[first], out[second]);
  return out;
}

void Relocate(const Node& node, const Rot90Param& p, const NDArray& in, NDArray& out) {
  const auto [first, second] = PlaneOf(node, p, in.shape());
  const Shape& shape = in.shape();
  const int quarters = Quarters(p);
  FromPlaces(
      in, in, out,
      [&, first = static_cast<std::size_t>(first), second = static_cast<std::size_t>(second)](const Index& index) {
        Index from = index;
        for (int turn = 0; turn < quarters; ++turn) {
          const bool exchanged = (quarters - turn) % 2 == 0;  // by the turns that come before this one
          const std::int64_t size = shape[static_cast<int>(exchanged ? first : second)];
          const std::int64_t row = from[first];
          from[first] = from[second];
          from[second] = size - 1 - row;
        }
        return PlaceOf(from, shape);
      });
}

// Turns by one quarter at a time: element (i, j) of the result is element (j, size - 1 - i) of what is turned.
bool Lower(LowerContext& c, const Rot90Param& p) {
  const Shape& data = c.in_type(0).shape;
  const auto [first, second] = PlaneOf(c.node(), p, data);
  std::vector<std::int64_t> from = RowMajorStrides(data);
  std::int64_t begin = 0;
  auto &along_first = from[static_cast<std::size_t>(first)], &along_second = from[static_cast<std::size_t>(second)];
  std::int64_t rows = data[first], columns = data[second];
  for (int turn = 0; turn < Quarters(p); ++turn) {
    begin += (columns - 1) * along_second;
    const std::int64_t reversed = -along_second;
    along_second = along_first;
    along_first = reversed;
    std::swap(rows, columns);
  }
  return LowerToMove(c, MoveTo(c.out_type(0).shape, from, begin));
}

[[maybe_unused]] const auto kRot90 =
    Register<Rot90Param>("_npi_rot90", "Turns the plane of two axes by k quarters, from the first towards the second.",
                         ParamSchema<Rot90Param>()
                             .Optional("k", &Rot90Param::k, "How many quarters.")
                             .Optional("axes", &Rot90Param::axes, "The two axes."));

}  // namespace
}  // namespace amp::roll
