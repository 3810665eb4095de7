// Concat and _npi_concatenate: arrays one after the other along an axis.
#include <cstring>

#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/gradient/composition_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::concat {
namespace {

struct ConcatParam {
  std::int64_t num_args = 0;
  std::int64_t dim = 1;
};

struct ConcatenateParam {
  std::int64_t num_args = 0;
  std::optional<std::int64_t> axis = 0;  // none: arrays are flattened
};

template <class P>
ParamSchema<P> Schema() {
  return std::move(ParamSchema<P>().Required("num_args", &P::num_args, "Number of inputs.").Range(1, 1 << 16));
}

std::optional<std::int64_t> GivenAxis(const ConcatParam& p) { return p.dim; }
std::optional<std::int64_t> GivenAxis(const ConcatenateParam& p) { return p.axis; }

template <class P>
int Axis(const Node& node, int rank) {
  const std::int64_t given = GivenAxis(node.params<P>()).value_or(0);
  const auto axis = NormalizeAxis(given, rank);
  if (!axis) FailAt(node, "axis {} does not exist in arrays of rank {}", given, rank);
  return *axis;
}

// The shape as which arrays of this shape are joined.
template <class P>
Shape Joined(const Node& node, const Shape& shape) {
  return GivenAxis(node.params<P>()) ? shape : Shape{shape.size()};
}

void InferFlattened(ShapeRelation& r) {
  std::int64_t size = 0;
  for (int i = 0; i < r.num_inputs(); ++i) {
    if (!r.in(i).fully_known()) return;
    if (__builtin_add_overflow(size, r.in(i).size(), &size)) FailAt(r.node(), "the result has too many elements");
  }
  r.Out(0, Shape{size});
}

// All sizes but that of the axis agree; the output's size there is the sum.
template <class P>
void InferShape(ShapeRelation& r) {
  if (!GivenAxis(r.node().params<P>())) return InferFlattened(r);
  int rank = r.out(0).rank_known() ? r.out(0).rank() : -1;
  for (int i = 0; i < r.num_inputs(); ++i) {
    if (r.in(i).rank_known()) rank = r.in(i).rank();
  }
  if (rank < 0) return;
  const int axis = Axis<P>(r.node(), rank);
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

template <class P>
void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const int rank = out[0].shape().rank();
  const int axis = Axis<P>(node, rank);
  const std::int64_t outer = out[0].shape().SizeOf(0, axis);
  const auto row_bytes = [&](const NDArray& array) {
    return static_cast<std::size_t>(Joined<P>(node, array.shape()).SizeOf(axis, rank) * BytesOf(array.dtype()));
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
  const int axis = Axis<ConcatParam>(node, inputs[0].rank());
  IntTuple begins(static_cast<std::size_t>(inputs[0].rank()), 0);
  for (int i = 0; i < slot; ++i) begins[static_cast<std::size_t>(axis)] += inputs[static_cast<std::size_t>(i)][axis];
  return begins;
}

template <class P>
bool Lower(LowerContext& c) {
  std::vector<ValueId> inputs;
  for (int i = 0; i < static_cast<int>(c.in_types().size()); ++i) {
    inputs.push_back(c.Reshape(c.in(i), Joined<P>(c.node(), c.in_type(i).shape)));
  }
  if (inputs.size() == 1) {
    c.SetOut(0, inputs[0]);
    return true;
  }
  const int axis = Axis<P>(c.node(), c.out_type(0).shape.rank());
  if (JoinsShortLines(c, axis)) return false;
  c.SetOut(0, c.Emit(ConcatSpec{axis}, inputs, c.out_type(0)));
  return true;
}

template <class P>
bool LowerToMoves(LowerContext& c) {
  std::vector<Shape> parts;
  for (const TensorType& type : c.in_types()) parts.push_back(Joined<P>(c.node(), type.shape));
  return LowerToConcat(c, Axis<P>(c.node(), c.out_type(0).shape.rank()), parts);
}

template <class P>
OpDefinition<P> RegisterJoin(const char* name, const char* doc, ParamSchema<P> schema) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(std::move(schema))
      .Variadic("num_args")
      .Inputs([](const P& p) { return NumberedNames("arg", p.num_args); })
      .Set(ShapeRule{InferShape<P>})
      .Set(SameDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(ReferenceKernel{Reference<P>})
      .Set(LowerRule{Lower<P>})
      .Set(KernelRule{LowerToMoves<P>});
}

OpDefinition<ConcatParam> Register(const char* name, const char* doc) {
  return RegisterJoin(name, doc,
                      Schema<ConcatParam>().Optional("dim", &ConcatParam::dim,
                                                     "The axis along which arrays are joined; may be negative."))
      .Set(GradientRule{[](GradientContext& c) {
        for (int i = 0; i < c.num_inputs(); ++i) MoveGradient(i).apply(c);
      }})
      .Set(JoinsArrays{BeginsOf});
}

[[maybe_unused]] const auto kConcat =
    Register("Concat", "Joins arrays along the axis `dim`.").Alias("concat").Alias("_sparse_concat");
[[maybe_unused]] const auto kRnnParamConcat =
    Register("_rnn_param_concat", "Joins the parameters of recurrent layers.").Alias("_npi_rnn_param_concat");

// The composition by Concat.
std::vector<Term> Compose(GradientContext& c) {
  const std::optional<std::int64_t> axis = GivenAxis(c.params<ConcatenateParam>());
  std::vector<Term> parts;
  for (int i = 0; i < c.num_inputs(); ++i) {
    parts.push_back(axis ? c.in(i) : c.Call("_np_reshape", {c.in(i)}, {{"newshape", "(-1,)"}}));
  }
  return {c.Call("Concat", parts, {{"num_args", PrintAttr(std::ssize(parts))}, {"dim", PrintAttr(axis.value_or(0))}})};
}

[[maybe_unused]] const auto kConcatenate =
    RegisterJoin("_npi_concatenate", "Joins arrays along an axis, or all of their elements.",
                 Schema<ConcatenateParam>().Optional("axis", &ConcatenateParam::axis,
                                                     "The axis; may be negative. None: arrays are flattened."))
        .Set(CompositionRule(Compose));

}  // namespace
}  // namespace amp::concat
