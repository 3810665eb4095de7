// Concat: arrays one after the other along an axis.
#include <cstring>

#include "ops/backward_move.h"
#include "ops/moves.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::concat {
namespace {

struct ConcatParam {
  std::int64_t num_args = 0;
  std::int64_t dim = 1;
};

ParamSchema<ConcatParam> Schema() {
  return ParamSchema<ConcatParam>()
      .Required("num_args", &ConcatParam::num_args, "Number of inputs.")
      .Range(1, 1 << 16)
      .Optional("dim", &ConcatParam::dim, "The axis along which arrays are joined; may be negative.");
}

int Axis(const Node& node, int rank) {
  const auto& p = node.params<ConcatParam>();
  const auto axis = NormalizeAxis(p.dim, rank);
  if (!axis) FailAt(node, "axis {} does not exist in arrays of rank {}", p.dim, rank);
  return *axis;
}

// All sizes but that of the axis agree; the output's size there is the sum.
void InferShape(ShapeRelation& r) {
  int rank = r.out(0).rank_known() ? r.out(0).rank() : -1;
  for (int i = 0; i < r.num_inputs(); ++i) {
    if (r.in(i).rank_known()) rank = r.in(i).rank();
  }
  if (rank < 0) return;
  const int axis = Axis(r.node(), rank);
  Shape common = Shape::OfRank(rank);
  const auto merge = [&](const Shape& shape) {
    if (!shape.rank_known()) return;
    Shape others = shape;
    bool changed = false;
    if (shape.rank() == rank) others[axis] = kUnknownDim;
    if (!MergeShape(&common, others, &changed)) {
      FailAt(r.node(), "arrays that are joined along axis {} must agree elsewhere, got {} and {}", axis,
             common.ToString(), shape.ToString());
    }
  };
  for (int i = 0; i < r.num_inputs(); ++i) merge(r.in(i));
  merge(r.out(0));
  std::int64_t sum = 0;
  int unknown = 0, last_unknown = -1;
  for (int i = 0; i < r.num_inputs(); ++i) {
    r.In(i, common);
    if (r.in(i)[axis] < 0) {
      ++unknown;
      last_unknown = i;
    } else {
      sum += r.in(i)[axis];
    }
  }
  Shape out = common;
  if (unknown == 0) out[axis] = sum;
  r.Out(0, out);
  if (unknown == 1 && r.out(0)[axis] >= sum) {
    Shape missing = common;
    missing[axis] = r.out(0)[axis] - sum;
    r.In(last_unknown, missing);
  }
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const int rank = out[0].shape().rank();
  const int axis = Axis(node, rank);
  const std::int64_t outer = out[0].shape().SizeOf(0, axis);
  const auto row_bytes = [&](const NDArray& array) {
    return static_cast<std::size_t>(array.shape().SizeOf(axis, rank) * BytesOf(array.dtype()));
  };
  const std::size_t out_row = row_bytes(out[0]);
  std::size_t offset = 0;
  for (const NDArray& array : in) {
    const std::size_t row = row_bytes(array);
    for (std::int64_t o = 0; o < outer && row != 0; ++o) {
      std::memcpy(out[0].As<char>() + o * out_row + offset, array.As<char>() + o * row, row);
    }
    offset += row;
  }
}

// Along the axis, behind all inputs before `slot`.
IntTuple BeginsOf(const Node& node, int slot, const std::vector<Shape>& inputs) {
  const int axis = Axis(node, inputs[0].rank());
  IntTuple begins(static_cast<std::size_t>(inputs[0].rank()), 0);
  for (int i = 0; i < slot; ++i) begins[static_cast<std::size_t>(axis)] += inputs[static_cast<std::size_t>(i)][axis];
  return begins;
}

bool Lower(LowerContext& c) {
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < c.node().inputs().size(); ++i) inputs.push_back(c.in(static_cast<int>(i)));
  if (inputs.size() == 1) {
    c.SetOut(0, inputs[0]);
    return true;
  }
  const int axis = Axis(c.node(), c.out_type(0).shape.rank());
  c.SetOut(0, c.Emit(ConcatSpec{axis}, inputs, c.out_type(0)));
  return true;
}

bool LowerToMoves(LowerContext& c) {
  std::vector<Shape> parts;
  for (const TensorType& type : c.in_types()) parts.push_back(type.shape);
  return LowerToConcat(c, Axis(c.node(), c.out_type(0).shape.rank()), parts);
}

OpDefinition<ConcatParam> Register(const char* name, const char* doc) {
  return RegisterOp<ConcatParam>(name)
      .Doc(doc)
      .Params(Schema())
      .Variadic("num_args")
      .Inputs([](const ConcatParam& p) { return NumberedNames("arg", p.num_args); })
      .Set(ShapeRule{InferShape})
      .Set(SameDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(GradientRule{[](GradientContext& c) {
        for (int i = 0; i < c.num_inputs(); ++i) MoveGradient(i).apply(c);
      }})
      .Set(JoinsArrays{BeginsOf})
      .Set(ReferenceKernel{Reference})
      .Set(LowerRule{Lower})
      .Set(KernelRule{LowerToMoves});
}

[[maybe_unused]] const auto kConcat =
    Register("Concat", "Joins arrays along the axis `dim`.").Alias("concat").Alias("_npi_concatenate");
[[maybe_unused]] const auto kRnnParamConcat =
    Register("_rnn_param_concat", "Joins the parameters of recurrent layers.").Alias("_npi_rnn_param_concat");

}  // namespace
}  // namespace amp::concat
