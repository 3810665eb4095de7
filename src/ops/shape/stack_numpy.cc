// NumPy's joins of arrays of any rank: a table. Each array is given the axes that it lacks, then they are concatenated.
#include <algorithm>
#include <cstring>

#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::stack_numpy {
namespace {

struct StackParam {
  std::int64_t num_args = 0;
  std::optional<std::int64_t> dim = 1;  // without effect; MXNet shares the struct with Concat
};

// The length of an array of rank 0 or 1.
std::int64_t LineOf(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[0]; }

Shape AtLeast1d(const Shape& shape) { return shape.rank() == 0 ? Shape{1} : shape; }
Shape AsRow(const Shape& shape) { return shape.rank() < 2 ? Shape{1, LineOf(shape)} : shape; }
Shape AsColumn(const Shape& shape) { return shape.rank() < 2 ? Shape{LineOf(shape), 1} : shape; }
Shape InDepth(const Shape& shape) {
  if (shape.rank() > 2) return shape;
  return shape.rank() == 2 ? Shape{shape[0], shape[1], 1} : Shape{1, LineOf(shape), 1};
}

struct Row {
  const char* name;
  const char* doc;
  Shape (*part)(const Shape&);
  int axis;  // of parts; those of rank 1 have only one
};

const Row kRows[] = {
    {"_npi_hstack", "Joins arrays along their second axis, those of rank 1 along the first.", AtLeast1d, 1},
    {"_npi_vstack", "Joins arrays along their first axis; those of rank 1 are rows.", AsRow, 0},
    {"_npi_dstack", "Joins arrays along their third axis; those of rank 1 are rows.", InDepth, 2},
    {"_npi_column_stack", "Joins arrays along their second axis; those of rank 1 are columns.", AsColumn, 1},
};

int AxisOf(const Row& row, const Shape& part) { return std::min(row.axis, part.rank() - 1); }

void InferShape(const Row& row, ShapeRelation& r) {
  Shape out;
  for (int i = 0; i < r.num_inputs(); ++i) {
    if (!r.in(i).fully_known()) return;
    const Shape part = row.part(r.in(i));
    if (i == 0) {
      out = part;
      continue;
    }
    const int axis = AxisOf(row, part);
    Shape same = part;
    if (part.rank() == out.rank()) same[axis] = out[axis];
    if (same != out) {
      FailAt(r.node(), "arrays of shapes {} and {} cannot be joined along axis {}", r.in(0).ToString(),
             r.in(i).ToString(), axis);
    }
    out[axis] += part[axis];
  }
  r.Out(0, out);
}

void Reference(const Row& row, std::span<const NDArray> in, NDArray& out) {
  const int rank = out.shape().rank(), axis = AxisOf(row, out.shape());
  const std::int64_t outer = out.shape().SizeOf(0, axis);
  const auto line_of = [&](const NDArray& array) {
    return static_cast<std::size_t>(row.part(array.shape()).SizeOf(axis, rank) * BytesOf(array.dtype()));
  };
  char* to = out.As<char>();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const NDArray& array : in) {
      const std::size_t line = line_of(array);
      if (line != 0) std::memcpy(to, array.As<char>() + o * line, line);
      to += line;
    }
  }
}

bool Lower(const Row& row, LowerContext& c) {
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < c.node().inputs().size(); ++i) {
    const int slot = static_cast<int>(i);
    parts.push_back(c.Reshape(c.in(slot), row.part(c.in_type(slot).shape)));
  }
  const ConcatSpec work{AxisOf(row, c.out_type(0).shape)};
  c.SetOut(0, parts.size() == 1 ? parts[0] : c.Emit(work, parts, c.out_type(0)));
  return true;
}

bool LowerToMoves(const Row& row, LowerContext& c) {
  std::vector<Shape> parts;
  for (const TensorType& type : c.in_types()) parts.push_back(row.part(type.shape));
  return LowerToConcat(c, AxisOf(row, c.out_type(0).shape), parts);
}

void Register(const Row& row) {
  RegisterOp<StackParam>(row.name)
      .Doc(row.doc)
      .Params(ParamSchema<StackParam>()
                  .Required("num_args", &StackParam::num_args, "Number of inputs.")
                  .Range(1, 1 << 16)
                  .Optional("dim", &StackParam::dim, "Has no effect."))
      .Variadic("num_args")
      .Inputs([](const StackParam& p) { return NumberedNames("data", p.num_args); })
      .Set(ShapeRule{[&row](ShapeRelation& r) { InferShape(row, r); }})
      .Set(SameDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(GradientRule{[](GradientContext& c) {
        for (int i = 0; i < c.num_inputs(); ++i) MoveGradient(i).apply(c);
      }})
      .Set(ReferenceKernel{
          [&row](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { Reference(row, in, out[0]); }})
      .Set(LowerRule{[&row](LowerContext& c) { return Lower(row, c); }})
      .Set(KernelRule{[&row](LowerContext& c) { return LowerToMoves(row, c); }});
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Row& row : kRows) Register(row);
  return true;
}();

}  // namespace
}  // namespace amp::stack_numpy
