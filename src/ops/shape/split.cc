// _split_v2: parts of an array along an axis, of equal size or between given positions.
#include <algorithm>
#include <cstring>

#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::split {
namespace {

struct SplitParam {
  IntTuple indices;
  std::int64_t axis = 1;
  bool squeeze_axis = false;
  std::int64_t sections = 0;
};

std::int64_t NumParts(const SplitParam& p) {
  return p.sections > 0 ? p.sections : static_cast<std::int64_t>(p.indices.size());
}

int AxisOf(const Node& node, const Shape& data) { return RequireAxis(node, node.params<SplitParam>().axis, data); }

// Positions [begin, end) along the axis.
struct Part {
  std::int64_t begin, end;
};

// Where sections are not equal, the first ones are larger by one. `indices` are the beginnings of the parts (the first
// one is 0 in MXNet's files).
Part PartOf(const SplitParam& p, std::int64_t size, std::int64_t i) {
  if (p.sections > 0) {
    const std::int64_t part = size / p.sections, num_larger = size % p.sections;
    const auto begin = [&](std::int64_t k) { return part * k + std::min(k, num_larger); };
    return {begin(i), begin(i + 1)};
  }
  const auto position = [&](std::size_t k) {
    const std::int64_t given = k < p.indices.size() ? p.indices[k] : size;
    return std::clamp<std::int64_t>(given < 0 ? given + size : given, 0, size);
  };
  const auto k = static_cast<std::size_t>(i);
  return {position(k), std::max(position(k), position(k + 1))};
}

void InferShape(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  const auto& p = r.node().params<SplitParam>();
  const int axis = AxisOf(r.node(), r.in(0));
  for (int i = 0; i < r.num_outputs(); ++i) {
    const Part part = PartOf(p, r.in(0)[axis], i);
    std::vector<std::int64_t> dims = r.in(0).dims();
    dims[axis] = part.end - part.begin;
    if (p.squeeze_axis && part.end - part.begin != 1) {
      FailAt(r.node(), "squeeze_axis: part {} has {} elements, not 1", i, part.end - part.begin);
    }
    if (p.squeeze_axis) dims.erase(dims.begin() + axis);
    r.Out(i, Shape(dims));
  }
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape& shape = in[0].shape();
  const int axis = AxisOf(node, shape);
  const auto inner = static_cast<std::size_t>(shape.SizeOf(axis + 1, shape.rank()) * BytesOf(in[0].dtype()));
  const std::size_t row = static_cast<std::size_t>(shape[axis]) * inner;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) continue;
    const Part part = PartOf(node.params<SplitParam>(), shape[axis], static_cast<std::int64_t>(i));
    const std::size_t size = static_cast<std::size_t>(part.end - part.begin) * inner;
    if (size == 0) continue;
    for (std::int64_t o = 0; o < shape.SizeOf(0, axis); ++o) {
      std::memcpy(out[i].As<char>() + o * size,
                  in[0].As<char>() + o * row + static_cast<std::size_t>(part.begin) * inner, size);
    }
  }
}

bool Lower(LowerContext& c) {
  const Shape& shape = c.in_type(0).shape;
  const int axis = AxisOf(c.node(), shape);
  for (int i = 0; i < c.node().num_outputs(); ++i) {
    if (!c.is_read(i)) continue;
    const Part range = PartOf(c.node().params<SplitParam>(), shape[axis], i);
    if (range.begin == range.end) return false;
    SliceSpec work{std::vector<std::int64_t>(static_cast<std::size_t>(shape.rank()), 0)};
    work.begins[static_cast<std::size_t>(axis)] = range.begin;
    Shape size = shape;
    size[axis] = range.end - range.begin;
    c.SetOut(i, c.Reshape(c.Emit(work, {c.in(0)}, {c.out_type(i).dtype, size}), c.out_type(i).shape));
  }
  return true;
}

bool LowerToMoves(LowerContext& c) {
  const Shape& shape = c.in_type(0).shape;
  const int axis = AxisOf(c.node(), shape);
  const std::int64_t outer = shape.SizeOf(0, axis), inner = shape.SizeOf(axis + 1, shape.rank());
  for (int i = 0; i < c.node().num_outputs(); ++i) {
    if (!c.is_read(i)) continue;
    const Part range = PartOf(c.node().params<SplitParam>(), shape[axis], i);
    const std::int64_t row = (range.end - range.begin) * inner;
    const Move move{{{outer, shape[axis] * inner, row}, {row, 1, 1}}, range.begin * inner};
    c.SetOut(i, EmitMoves(c, {c.in(0)}, {move}, c.out_type(i)));
  }
  return true;
}

void Validate(SplitParam& p) {
  if (NumParts(p) < 1) throw GraphError("neither attribute sections nor attribute indices names parts");
}

[[maybe_unused]] const auto kCard =
    RegisterOp<SplitParam>("_split_v2")
        .Alias("_npi_split")
        .Alias("_npi_array_split")
        .Alias("_npi_hsplit")
        .Alias("_npi_dsplit")
        .Doc("Parts along an axis: `sections` of about one size, or one from each of `indices` to the next.")
        .Params(ParamSchema<SplitParam>()
                    .Optional("indices", &SplitParam::indices, "Where parts begin; negative ones count from the end.")
                    .Optional("axis", &SplitParam::axis, "The axis; may be negative.")
                    .Optional("squeeze_axis", &SplitParam::squeeze_axis, "Parts of size 1 lose the axis.")
                    .Optional("sections", &SplitParam::sections,
                              "Number of parts, of which the first may be larger by one; 0: see indices.")
                    .Range(0, 1 << 16),
                Validate)
        .Inputs({"data"})
        .Outputs([](const SplitParam& p) {
          return NumParts(p) == 1 ? std::vector<std::string>{"output"} : NumberedNames("output", NumParts(p));
        })
        .VisibleOutputs([](const SplitParam& p) { return static_cast<int>(NumParts(p)); })
        .Set(ShapeRule{InferShape})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(GradientRule{[](GradientContext& c) {
          const auto& p = c.params<SplitParam>();
          JoinGradients(c, p.axis, p.squeeze_axis);
        }})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower})
        .Set(KernelRule{LowerToMoves});

}  // namespace
}  // namespace amp::split
