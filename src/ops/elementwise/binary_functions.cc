// Functions of two arrays that oneDNN lacks: a table. Comparisons give 0 and 1, in 2.0 bool.
#include <numbers>
#include <utility>

#include "ops/common/broadcast.h"
#include "ops/common/derivatives.h"
#include "ops/common/dtype_promotion.h"
#include "ops/common/map_rules.h"
#include "ops/common/rules.h"
#include "ops/elementwise/functions_of_two.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::binary_functions {
namespace {

enum class Shapes { kEqual, kBroadcast };

// Dtypes of operands: one, one float; or (in 2.0) two of any kind, two of integers or bool, two of integers.
enum class Operands { kSame, kFloat, kMixed, kMixedBits, kMixedIntegers };
enum class Result { kNumber, kBool };

struct Row {
  const char* name;
  const char* aliases;
  const char* doc;
  const FunctionOfTwo* function;
  Shapes shapes = Shapes::kBroadcast;
  Operands operands = Operands::kSame;
  Result result = Result::kNumber;
};

constexpr Shapes kSameShape = Shapes::kEqual, kBroadcast = Shapes::kBroadcast;
constexpr Operands kMixed = Operands::kMixed, kBits = Operands::kMixedBits;

constexpr Row kRows[] = {
    {"broadcast_mod", "", "The remainder of lhs / rhs with the sign of rhs; 0 where rhs is 0.", &functions::kRemainder},
    {"broadcast_power", "", "lhs to the power of rhs.", &functions::kPower},
    {"broadcast_hypot", "_npi_hypot", "sqrt(lhs * lhs + rhs * rhs).", &functions::kHypot},
    {"broadcast_equal", "", "1 where lhs = rhs, else 0.", &functions::kEqual},
    {"broadcast_not_equal", "", "1 where lhs differs from rhs, else 0.", &functions::kNotEqual},
    {"broadcast_greater", "_npx_broadcast_greater", "1 where lhs > rhs, else 0.", &functions::kGreater},
    {"broadcast_greater_equal", "", "1 where lhs >= rhs, else 0.", &functions::kGreaterEqual},
    {"broadcast_lesser", "", "1 where lhs < rhs, else 0.", &functions::kLesser},
    {"broadcast_lesser_equal", "", "1 where lhs <= rhs, else 0.", &functions::kLesserEqual},
    {"broadcast_logical_and", "", "1 where neither is 0, else 0.", &functions::kAnd},
    {"broadcast_logical_or", "", "0 where both are 0, else 1.", &functions::kOr},
    {"broadcast_logical_xor", "", "1 where one of the two is 0, else 0.", &functions::kXor},

    {"_mod", "_Mod", "The remainder of lhs / rhs with the sign of rhs; 0 where rhs is 0.", &functions::kRemainder,
     kSameShape},
    {"_power", "_Power", "lhs to the power of rhs.", &functions::kPower, kSameShape},
    {"_hypot", "_Hypot", "sqrt(lhs * lhs + rhs * rhs).", &functions::kHypot, kSameShape},
    {"_equal", "_Equal", "1 where lhs = rhs, else 0.", &functions::kEqual, kSameShape},
    {"_not_equal", "_Not_Equal", "1 where lhs differs from rhs, else 0.", &functions::kNotEqual, kSameShape},
    {"_greater", "_Greater", "1 where lhs > rhs, else 0.", &functions::kGreater, kSameShape},
    {"_greater_equal", "_Greater_Equal", "1 where lhs >= rhs, else 0.", &functions::kGreaterEqual, kSameShape},
    {"_lesser", "_Lesser", "1 where lhs < rhs, else 0.", &functions::kLesser, kSameShape},
    {"_lesser_equal", "_Lesser_Equal", "1 where lhs <= rhs, else 0.", &functions::kLesserEqual, kSameShape},
    {"_logical_and", "_Logical_And", "1 where neither is 0, else 0.", &functions::kAnd, kSameShape},
    {"_logical_or", "_Logical_Or", "0 where both are 0, else 1.", &functions::kOr, kSameShape},
    {"_logical_xor", "_Logical_Xor", "1 where one of the two is 0, else 0.", &functions::kXor, kSameShape},

    {"_npi_equal", "", "Whether lhs = rhs.", &functions::kEqual, kBroadcast, kMixed, Result::kBool},
    {"_npi_not_equal", "", "Whether lhs differs from rhs.", &functions::kNotEqual, kBroadcast, kMixed, Result::kBool},
    {"_npi_greater", "", "Whether lhs > rhs.", &functions::kGreater, kBroadcast, kMixed, Result::kBool},
    {"_npi_greater_equal", "", "Whether lhs >= rhs.", &functions::kGreaterEqual, kBroadcast, kMixed, Result::kBool},
    {"_npi_less", "", "Whether lhs < rhs.", &functions::kLesser, kBroadcast, kMixed, Result::kBool},
    {"_npi_less_equal", "", "Whether lhs <= rhs.", &functions::kLesserEqual, kBroadcast, kMixed, Result::kBool},
    {"_npi_logical_and", "", "Whether neither is 0.", &functions::kAnd, kBroadcast, kMixed, Result::kBool},
    {"_npi_logical_or", "", "Whether one of the two is not 0.", &functions::kOr, kBroadcast, kMixed, Result::kBool},
    {"_npi_logical_xor", "", "Whether just one of the two is 0.", &functions::kXor, kBroadcast, kMixed, Result::kBool},

    {"_times_log", "", "lhs * log(rhs): the derivative of a power lhs of rhs by the exponent.", &functions::kTimesLog,
     kSameShape},

    {"_npi_mod", "", "The remainder of lhs / rhs with the sign of rhs; 0 where rhs is 0.", &functions::kRemainder,
     kBroadcast, kMixed},
    {"_npi_power", "", "lhs to the power of rhs.", &functions::kPower, kBroadcast, kMixed},
    {"_npi_floor_divide", "", "The largest integer up to lhs / rhs; of integers 0 where rhs is 0.",
     &functions::kFloorQuotient, kBroadcast, kMixed},
    {"_npi_fmod", "", "The remainder of lhs / rhs with the sign of lhs; 0 where rhs is 0.",
     &functions::kTruncatedRemainder},
    {"_npi_fmax", "", "The larger of lhs and rhs; a number rather than NaN.", &functions::kFMax},
    {"_npi_fmin", "", "The smaller of lhs and rhs; a number rather than NaN.", &functions::kFMin},
    {"_npi_copysign", "", "The magnitude of lhs with the sign of rhs.", &functions::kCopySign},
    {"_npi_ldexp", "", "lhs times 2 to the power of rhs.", &functions::kLoadExponent},
    {"_npi_arctan2", "", "The angle of the point (rhs, lhs) in radians.", &functions::kArcTan2, kBroadcast,
     Operands::kFloat},
    {"_npi_logaddexp", "", "log(exp(lhs) + exp(rhs)).", &functions::kLogAddExp, kBroadcast, Operands::kFloat},

    {"_npi_gcd", "", "The greatest common divisor of lhs and rhs.", &functions::kGreatestDivisor, kBroadcast,
     Operands::kMixedIntegers},
    {"_npi_lcm", "", "The least common multiple of lhs and rhs.", &functions::kLeastMultiple, kBroadcast,
     Operands::kMixedIntegers},
    {"_npi_bitwise_and", "", "The bits that both have.", &functions::kBitAnd, kBroadcast, kBits},
    {"_npi_bitwise_or", "", "The bits that one of the two has.", &functions::kBitOr, kBroadcast, kBits},
    {"_npi_bitwise_xor", "", "The bits that just one of the two has.", &functions::kBitXor, kBroadcast, kBits},
    {"_npi_bitwise_left_shift", "", "The bits of lhs, rhs places to the left.", &functions::kLeftShift, kBroadcast,
     Operands::kMixedIntegers},
    {"_npi_bitwise_right_shift", "", "The bits of lhs, rhs places to the right.", &functions::kRightShift, kBroadcast,
     Operands::kMixedIntegers},
};

void AddFacts(const Row& row, OpDefinition<NoParam>& definition) {
  if (row.function->range == nullptr) return;
  definition.Set(RangeOfTwo(row.function->range)).Set(SensitivityOf(*row.function));
}

// Comparisons and quotients of mixed operands are those of the wider dtype.
void InferDType(const Row& row, DTypeRelation& r) {
  const bool mixed = row.operands != Operands::kSame && row.operands != Operands::kFloat;
  if (!mixed) r.Same({0, 1}, {});
  const bool known = KnowOperands(r);
  for (int i = 0; i < 2 && known; ++i) {
    const DType dtype = r.in(i);
    const bool is_bool = dtype == DType::kBool, is_integer = !IsFloat(dtype) && !is_bool;
    if (row.operands == Operands::kFloat) r.InIsFloat(i);
    if (row.operands == Operands::kMixedIntegers && !is_integer) {
      FailAt(r.node(), "expected arrays of integers, got {}", NameOf(dtype));
    }
    if (row.operands == Operands::kMixedBits && !is_integer && !is_bool) {
      FailAt(r.node(), "expected arrays of integers or bool, got {}", NameOf(dtype));
    }
  }
  if (row.result == Result::kBool) return r.Out(0, DType::kBool);
  if (!mixed) return r.AllSame();
  if (known) r.Out(0, CommonDType(r.in(0), r.in(1)));
}

// Integers are compared with floats in double, which holds more of them than float.
DType ComputedIn(const Row& row, DType a, DType b) {
  return row.result == Result::kBool && IsFloat(a) != IsFloat(b) ? DType::kFloat64 : CommonDType(a, b);
}

void Reference(const Row& row, std::span<const NDArray> in, NDArray& out) {
  ComputeBroadcast(*row.function, ComputedIn(row, in[0].dtype(), in[1].dtype()), in, out);
}

bool LowerByMap(const Row& row, LowerContext& c) {
  const FunctionOfTwo& function = *row.function;
  if (function.real == nullptr) return false;
  if (&function == &functions::kTimesLog)
    return LowerToMap(c, {{.op = kernels::MapOp::kLog, .x = 1}, {.op = kernels::MapOp::kMul, .x = 0, .y = 2}});
  const kernels::MapStep step{.op = function.map_op, .x = 0, .y = 1, .function2 = function.real};
  return LowerToMap(c, {step}, function.is_logical() ? std::vector{0, 1} : std::vector<int>());
}

// The derivatives by each operand; those of functions that are not here are zero.
struct DerivativeRow {
  const FunctionOfTwo* function;
  Term (*of_first)(const Term& a, const Term& b, const Term& y);
  Term (*of_second)(const Term& a, const Term& b, const Term& y);
};
Term One(const Term&, const Term&, const Term& y) { return OneOfFloats(y); }
constexpr DerivativeRow kDerivatives[] = {
    {&functions::kRemainder, One,
     [](const Term& a, const Term& b, const Term& y) { return -Unary("floor", a / b) * OneOfFloats(y); }},
    {&functions::kTruncatedRemainder, One,
     [](const Term& a, const Term& b, const Term& y) { return -Unary("trunc", a / b) * OneOfFloats(y); }},
    {&functions::kPower,
     [](const Term& a, const Term& b, const Term&) {
       return b * a.context().Call("broadcast_power", {a, b - 1});
     },
     [](const Term& a, const Term&, const Term& y) {
       return y.context().Call("_times_log", {y, a.context().Call("_broadcast_as", {a, y})});
     }},
    {&functions::kTimesLog, [](const Term&, const Term& b, const Term&) { return Unary("log", b); },
     [](const Term& a, const Term& b, const Term&) { return a / b; }},
    {&functions::kHypot, [](const Term& a, const Term&, const Term& y) { return a / y; },
     [](const Term&, const Term& b, const Term& y) { return b / y; }},
    {&functions::kFMax, [](const Term& a, const Term& b, const Term&) { return a >= b; },
     [](const Term& a, const Term& b, const Term&) { return a < b; }},
    {&functions::kFMin, [](const Term& a, const Term& b, const Term&) { return a <= b; },
     [](const Term& a, const Term& b, const Term&) { return a > b; }},
    {&functions::kCopySign,
     [](const Term& a, const Term&, const Term& y) { return Unary("sign", a) * Unary("sign", y); }, nullptr},
    {&functions::kLoadExponent,
     [](const Term&, const Term& b, const Term&) { return WithScalar("_rpower_scalar", b, 2); },
     [](const Term&, const Term&, const Term& y) { return std::numbers::ln2 * y; }},
    {&functions::kArcTan2,
     [](const Term& a, const Term& b, const Term&) { return b / (Unary("square", a) + Unary("square", b)); },
     [](const Term& a, const Term& b, const Term&) { return -a / (Unary("square", a) + Unary("square", b)); }},
    {&functions::kLogAddExp, [](const Term& a, const Term&, const Term& y) { return Unary("exp", a - y); },
     [](const Term&, const Term& b, const Term& y) { return Unary("exp", b - y); }},
};

void AddGradient(const Row& row, OpDefinition<NoParam>& definition) {
  for (const DerivativeRow& known : kDerivatives) {
    if (row.function != known.function) continue;
    const bool mixed = row.operands == Operands::kMixed;
    definition.Set(GradientRule{[&known, mixed](GradientContext& c) {
      const Term y = c.out();
      const auto operand = [&](int i) { return mixed ? c.Call("_broadcast_as", {c.in(i), y}) : c.in(i); };
      const Term a = operand(0), b = operand(1);
      c.Set(0, SumLike(c.gradient() * known.of_first(a, b, y), c.in(0)));
      if (known.of_second != nullptr) c.Set(1, SumLike(c.gradient() * known.of_second(a, b, y), c.in(1)));
    }});
    return;
  }
  definition.Set(ZeroGradient{"it changes by steps"});
}

void Register(const Row& row) {
  auto op = RegisterOp<NoParam>(row.name);
  AddAliases(op, row.aliases);
  // MXNet 1.x takes an axis and ignores it.
  if (std::string_view(row.name).starts_with("broadcast_")) op.Params(ParamSchema<NoParam>().Ignored("axis"));
  const bool equal = row.shapes == Shapes::kEqual;
  AddFacts(row, op);
  AddGradient(row, op);
  op.Doc(std::string(row.doc) + (equal ? " Equal shapes." : " Sizes of 1 are broadcast."))
      .Inputs({"lhs", "rhs"})
      .Set(equal ? SameShape() : BroadcastShape())
      .Set(DTypeRule{[&row](DTypeRelation& r) { InferDType(row, r); }})
      .Set(AmpFacts{Arithmetic::kElementwise})
      .Set(ReferenceKernel{
          [&row](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { Reference(row, in, out[0]); }})
      .Set(KernelRule{[&row](LowerContext& c) { return LowerByMap(row, c); }});
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Row& row : kRows) Register(row);
  return true;
}();

}  // namespace
}  // namespace amp::binary_functions
