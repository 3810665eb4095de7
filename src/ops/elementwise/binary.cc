// Arithmetic of two arrays: a table. Operators differ in their function and in whether shapes may be broadcast.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/common/broadcast.h"
#include "ops/common/dtype_promotion.h"
#include "ops/common/map_rules.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/map_steps.h"
#include "program/reference.h"

namespace amp::binary {
namespace {

enum class Shapes { kEqual, kBroadcast };

// Of the operands: one for both, or (in 2.0) floats beside integers and other floats.
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

template <class T>
T Compute(BinaryKind kind, T a, T b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kSub:
      return a - b;
    case BinaryKind::kMul:
      return a * b;
    case BinaryKind::kDiv:
      return a / b;
    case BinaryKind::kMax:
      return a > b || std::isnan(a) ? a : b;
    case BinaryKind::kMin:
      break;
  }
  return a < b || std::isnan(a) ? a : b;
}

// Wraps modulo 2^64. A quotient by zero is 0, as there is no better integer.
std::int64_t Compute(BinaryKind kind, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (kind) {
    case BinaryKind::kAdd:
      return static_cast<std::int64_t>(x + y);
    case BinaryKind::kSub:
      return static_cast<std::int64_t>(x - y);
    case BinaryKind::kMul:
      return static_cast<std::int64_t>(x * y);
    case BinaryKind::kDiv:
      if (b == 0) return 0;
      return b == -1 ? static_cast<std::int64_t>(0 - x) : a / b;
    case BinaryKind::kMax:
      return std::max(a, b);
    case BinaryKind::kMin:
      break;
  }
  return std::min(a, b);
}

RangeFunction RangeOf(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return Sum;
    case BinaryKind::kSub:
      return Difference;
    case BinaryKind::kMul:
      return Product;
    case BinaryKind::kDiv:
      return Quotient;
    case BinaryKind::kMax:
      return Maximum;
    case BinaryKind::kMin:
      break;
  }
  return Minimum;
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
  WithNumberType(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> a = Numbers<T>(in[0]), b = Numbers<T>(in[1]);
    std::vector<T> y(out.size());
    BroadcastIndex ia(in[0].shape(), out.shape()), ib(in[1].shape(), out.shape());
    for (T& value : y) value = Compute(kind, a[ia.Next()], b[ib.Next()]);
    Store(y, out);
  });
}

// By operand. The first one gets the gradient where they are equal.
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

// The library broadcasts its second operand to the first.
bool Lower(BinaryKind kind, LowerContext& c) {
  // The library's give the second operand where the first one is a NaN.
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
  if (kind == BinaryKind::kDiv) {
    op.Set(InputSensitivity{
        [](const Node&, std::size_t slot) { return slot == 1 ? Sensitivity::kPole : Sensitivity::kSmooth; }});
  }
  op.Doc(row.shapes == Shapes::kEqual ? row.doc : std::string(row.doc) + " Sizes of 1 are broadcast.")
      .Inputs({"lhs", "rhs"})
      .Set(row.shapes == Shapes::kEqual ? SameShape() : BroadcastShape())
      .Set(DTypeRuleOf(kind, row.dtypes))
      .Set(AmpFacts{Arithmetic::kElementwise})
      .Set(RangeOfTwo(RangeOf(kind)))
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
}  // namespace amp::binary
