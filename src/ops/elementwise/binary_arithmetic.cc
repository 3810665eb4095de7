// Arithmetic of two arrays: a table. Operators differ in their function and in whether shapes may be broadcast.
#include "ops/common/broadcast.h"
#include "ops/common/dtype_promotion.h"
#include "ops/common/map_rules.h"
#include "ops/common/rules.h"
#include "ops/elementwise/functions_of_two.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/map_steps.h"
#include "program/reference.h"

namespace amp::binary_arithmetic {
namespace {

enum class Shapes { kEqual, kBroadcast };

// The dtypes of the operands: one for both, or (in 2.0) floats beside integers and other floats.
enum class DTypes { kSame, kMixed, kMixedToFloat };

struct Row {
  const char* name;
  const char* aliases;
  const char* doc;
  BinaryKind kind;
  Shapes shapes;
  DTypes dtypes = DTypes::kSame;
};

constexpr Row kRows[] = {
    {"elemwise_add", "_add _plus _Plus _sparse_elemwise_add _grad_add", "lhs + rhs, equal shapes.", BinaryKind::kAdd,
     Shapes::kEqual},
    {"elemwise_sub", "_sub _minus _Minus _sparse_elemwise_sub", "lhs - rhs, equal shapes.", BinaryKind::kSub,
     Shapes::kEqual},
    {"elemwise_mul", "_mul _Mul _sparse_elemwise_mul", "lhs * rhs, equal shapes.", BinaryKind::kMul, Shapes::kEqual},
    {"elemwise_div", "_div _Div _sparse_elemwise_div _scatter_elemwise_div", "lhs / rhs, equal shapes.",
     BinaryKind::kDiv, Shapes::kEqual},
    {"_maximum", "_Maximum", "The larger of lhs and rhs, equal shapes.", BinaryKind::kMax, Shapes::kEqual},
    {"_minimum", "_Minimum", "The smaller of lhs and rhs, equal shapes.", BinaryKind::kMin, Shapes::kEqual},
    {"broadcast_add", "broadcast_plus _sparse_broadcast_add _sparse_broadcast_plus", "lhs + rhs.", BinaryKind::kAdd,
     Shapes::kBroadcast},
    {"broadcast_sub", "broadcast_minus _sparse_broadcast_minus _sparse_broadcast_sub", "lhs - rhs.", BinaryKind::kSub,
     Shapes::kBroadcast},
    {"broadcast_mul", "_sparse_broadcast_mul", "lhs * rhs.", BinaryKind::kMul, Shapes::kBroadcast},
    {"broadcast_div", "_sparse_broadcast_div", "lhs / rhs.", BinaryKind::kDiv, Shapes::kBroadcast},
    {"broadcast_maximum", "_npi_maximum", "The larger of lhs and rhs.", BinaryKind::kMax, Shapes::kBroadcast},
    {"broadcast_minimum", "_npi_minimum", "The smaller of lhs and rhs.", BinaryKind::kMin, Shapes::kBroadcast},
    {"_npi_add", "", "lhs + rhs.", BinaryKind::kAdd, Shapes::kBroadcast, DTypes::kMixed},
    {"_npi_subtract", "", "lhs - rhs.", BinaryKind::kSub, Shapes::kBroadcast, DTypes::kMixed},
    {"_npi_multiply", "", "lhs * rhs.", BinaryKind::kMul, Shapes::kBroadcast, DTypes::kMixed},
    {"_npi_true_divide", "", "lhs / rhs; integers give float32.", BinaryKind::kDiv, Shapes::kBroadcast,
     DTypes::kMixedToFloat},
};

const FunctionOfTwo& FunctionOf(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return functions::kPlus;
    case BinaryKind::kSub:
      return functions::kMinus;
    case BinaryKind::kMul:
      return functions::kTimes;
    case BinaryKind::kDiv:
      return functions::kOver;
    case BinaryKind::kMax:
      return functions::kLarger;
    case BinaryKind::kMin:
      break;
  }
  return functions::kSmaller;
}

Algebra AlgebraOf(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return Algebra::kSum;
    case BinaryKind::kSub:
      return Algebra::kDifference;
    case BinaryKind::kMul:
      return Algebra::kProduct;
    default:
      return Algebra::kOther;
  }
}

DTypeRule DTypeRuleOf(BinaryKind kind, DTypes dtypes) {
  if (dtypes == DTypes::kSame) return SameDType();
  return {[kind, dtypes](DTypeRelation& r) {
    if (!KnowOperands(r)) return;
    const DType common = CommonDType(r.in(0), r.in(1));
    if (kind == BinaryKind::kSub && common == DType::kBool) {
      FailAt(r.node(), "truths have no difference; take logical_xor, or cast one of them to integers");
    }
    r.Out(0, dtypes == DTypes::kMixedToFloat && !IsFloat(common) ? DType::kFloat32 : common);
  }};
}

void Reference(BinaryKind kind, std::span<const NDArray> in, NDArray& out) {
  ComputeBroadcast(FunctionOf(kind), out.dtype(), in, out);
}

// Sets the gradients of the operands. The first one gets it where they are equal.
// Operands of other dtypes are cast to that of the output.
void Gradient(BinaryKind kind, Shapes shapes, DTypes dtypes, GradientContext& c) {
  const auto operand = [&](int i) {
    return dtypes == DTypes::kSame ? c.in(i) : c.Call("_broadcast_as", {c.in(i), c.out()});
  };
  const Term g = c.gradient(), a = operand(0), b = operand(1);
  const auto set = [&](int i, const Term& term) { c.Set(i, shapes == Shapes::kEqual ? term : SumLike(term, c.in(i))); };
  const auto set_both = [&](const Term& first, const Term& second) {
    set(0, first);
    set(1, second);
  };
  switch (kind) {
    case BinaryKind::kAdd:
      return set_both(g, g);
    case BinaryKind::kSub:
      return set_both(g, -g);
    case BinaryKind::kMul:
      return set_both(g * b, g * a);
    case BinaryKind::kDiv:
      return set_both(g / b, -(g * c.out() / b));
    case BinaryKind::kMax:
      return set_both(g * (a >= b), g * (a < b));
    case BinaryKind::kMin:
      return set_both(g * (a <= b), g * (a > b));
  }
}

bool Commutative(BinaryKind kind) { return kind != BinaryKind::kSub && kind != BinaryKind::kDiv; }

// oneDNN broadcasts its second operand to the first.
bool Lower(BinaryKind kind, LowerContext& c) {
  // oneDNN's give the second operand where the first one is a NaN.
  if (kind == BinaryKind::kMax || kind == BinaryKind::kMin) return false;
  const auto& [dtype, out] = c.out_type(0);
  const auto operand = [&, dtype = dtype, rank = out.rank()](int i) {
    return c.Cast(c.Reshape(c.in(i), AlignedRight(c.in_type(i).shape, rank)), dtype);
  };
  // A cast to low precision would round an operand that the definition does not round.
  const bool exact = c.in_type(0).dtype == c.in_type(1).dtype || dtype == DType::kFloat32;
  if (!exact) return false;
  const auto lhs = operand(0), rhs = operand(1);
  if (c.ShapeOf(lhs) == out) {
    c.SetOut(0, c.Emit(BinarySpec{kind}, {lhs, rhs}, c.out_type(0)));
  } else if (Commutative(kind) && c.ShapeOf(rhs) == out) {
    c.SetOut(0, c.Emit(BinarySpec{kind}, {rhs, lhs}, c.out_type(0)));
  } else {
    return false;
  }
  return true;
}

void Register(const Row& row) {
  auto op = RegisterOp<NoParam>(row.name);
  AddAliases(op, row.aliases);
  // MXNet 1.x takes an axis and ignores it.
  if (std::string_view(row.name).starts_with("broadcast_")) op.Params(ParamSchema<NoParam>().Ignored("axis"));
  const BinaryKind kind = row.kind;
  const FunctionOfTwo& function = FunctionOf(kind);
  op.Doc(row.shapes == Shapes::kEqual ? row.doc : std::string(row.doc) + " Sizes of 1 are broadcast.")
      .Inputs({"lhs", "rhs"})
      .Set(row.shapes == Shapes::kEqual ? SameShape() : BroadcastShape())
      .Set(DTypeRuleOf(kind, row.dtypes))
      .Set(AmpFacts{Arithmetic::kElementwise})
      .Set(RangeOfTwo(function.range))
      .Set(SensitivityOf(function))
      .Set(AlwaysAlgebra(AlgebraOf(kind)))
      .Set(IsElementwise{})
      .Set(GradientRule{[kind, &row](GradientContext& c) { Gradient(kind, row.shapes, row.dtypes, c); }})
      .Set(ReferenceKernel{
          [kind](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { Reference(kind, in, out[0]); }})
      .Set(LowerRule{[kind](LowerContext& c) { return Lower(kind, c); }})
      .Set(KernelRule{[kind](LowerContext& c) { return LowerToMap(c, {{.op = MapOpOf(kind), .x = 0, .y = 1}}); }});
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Row& row : kRows) Register(row);
  return true;
}();

}  // namespace
}  // namespace amp::binary_arithmetic
