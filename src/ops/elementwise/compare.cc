// Functions of two arrays that oneDNN lacks: a table. Comparisons give 0 and 1, in 2.0 bool.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <utility>

#include "ops/common/broadcast.h"
#include "ops/common/dtype_promotion.h"
#include "ops/common/map_rules.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/remainder.h"
#include "ops/common/rules.h"
#include "ops/common/special.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::compare {
namespace {

enum class Shapes { kEqual, kBroadcast };

// Of the operands: one dtype, one float; or (in 2.0) two of any kind, two of integers or bool, two of integers.
enum class Operands { kSame, kFloat, kMixed, kMixedBits, kMixedIntegers };
enum class Result { kNumber, kBool };

struct Row {
  const char* name;
  const char* aliases;
  const char* doc;
  double (*real)(double a, double b);  // absent: of integers only
  std::int64_t (*integer)(std::int64_t a, std::int64_t b);
  Shapes shapes = Shapes::kBroadcast;
  Operands operands = Operands::kSame;
  Result result = Result::kNumber;
};

template <class Compare, class T>
T Comparison(T a, T b) {
  return Compare()(a, b) ? T{1} : T{0};
}

std::int64_t AsInteger(double value) {
  return std::abs(value) < 9.2e18 ? static_cast<std::int64_t>(value) : 0;  // 0 for NaN, too
}
// Of integers by way of double, cut off.
template <double (*F)(double, double)>
std::int64_t CutOff(std::int64_t a, std::int64_t b) {
  return AsInteger(F(static_cast<double>(a), static_cast<double>(b)));
}

std::int64_t GreatestDivisor(std::int64_t a, std::int64_t b) {
  while (b != 0) a = std::exchange(b, b == -1 ? 0 : a % b);  // a % -1 may overflow
  return a < 0 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)) : a;
}
std::int64_t LeastMultiple(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  const auto product = static_cast<std::uint64_t>(a / GreatestDivisor(a, b)) * static_cast<std::uint64_t>(b);
  const auto multiple = static_cast<std::int64_t>(product);
  return multiple < 0 ? static_cast<std::int64_t>(0 - product) : multiple;
}

double Power(double a, double b) { return std::pow(a, b); }
double TimesLog(double a, double b) { return a * std::log(b); }
double Hypot(double a, double b) { return std::hypot(a, b); }
double ArcTan2(double a, double b) { return std::atan2(a, b); }
double LoadExponent(double a, double b) { return a * std::exp2(b); }
double FMax(double a, double b) { return std::fmax(a, b); }
double FMin(double a, double b) { return std::fmin(a, b); }
double CopySign(double a, double b) { return std::copysign(a, b); }

template <class Logic, class T>
T Logical(T a, T b) {
  return Logic()(a != 0, b != 0) ? T{1} : T{0};
}

using Equal = std::equal_to<>;
using NotEqual = std::not_equal_to<>;
using Greater = std::greater<>;
using GreaterEqual = std::greater_equal<>;
using Lesser = std::less<>;
using LesserEqual = std::less_equal<>;
using And = std::logical_and<>;
using Or = std::logical_or<>;
using Xor = std::not_equal_to<>;  // of bool

constexpr Shapes kEqual = Shapes::kEqual, kBroadcast = Shapes::kBroadcast;
constexpr Operands kMixed = Operands::kMixed, kBits = Operands::kMixedBits;

const Row kRows[] = {
    {"broadcast_mod", "", "The remainder of lhs / rhs with the sign of rhs; 0 where rhs is 0.", Remainder, Remainder},
    {"broadcast_power", "", "lhs to the power of rhs.", Power, CutOff<Power>},
    {"broadcast_hypot", "_npi_hypot", "sqrt(lhs * lhs + rhs * rhs).", Hypot, CutOff<Hypot>},
    {"broadcast_equal", "", "1 where lhs = rhs, else 0.", Comparison<Equal>, Comparison<Equal>},
    {"broadcast_not_equal", "", "1 where lhs differs from rhs, else 0.", Comparison<NotEqual>, Comparison<NotEqual>},
    {"broadcast_greater", "_npx_broadcast_greater", "1 where lhs > rhs, else 0.", Comparison<Greater>,
     Comparison<Greater>},
    {"broadcast_greater_equal", "", "1 where lhs >= rhs, else 0.", Comparison<GreaterEqual>, Comparison<GreaterEqual>},
    {"broadcast_lesser", "", "1 where lhs < rhs, else 0.", Comparison<Lesser>, Comparison<Lesser>},
    {"broadcast_lesser_equal", "", "1 where lhs <= rhs, else 0.", Comparison<LesserEqual>, Comparison<LesserEqual>},
    {"broadcast_logical_and", "", "1 where neither is 0, else 0.", Logical<And>, Logical<And>},
    {"broadcast_logical_or", "", "0 where both are 0, else 1.", Logical<Or>, Logical<Or>},
    {"broadcast_logical_xor", "", "1 where one of the two is 0, else 0.", Logical<Xor>, Logical<Xor>},

    {"_mod", "_Mod", "The remainder of lhs / rhs with the sign of rhs; 0 where rhs is 0.", Remainder, Remainder,
     kEqual},
    {"_power", "_Power", "lhs to the power of rhs.", Power, CutOff<Power>, kEqual},
    {"_hypot", "_Hypot", "sqrt(lhs * lhs + rhs * rhs).", Hypot, CutOff<Hypot>, kEqual},
    {"_equal", "_Equal", "1 where lhs = rhs, else 0.", Comparison<Equal>, Comparison<Equal>, kEqual},
    {"_not_equal", "_Not_Equal", "1 where lhs differs from rhs, else 0.", Comparison<NotEqual>, Comparison<NotEqual>,
     kEqual},
    {"_greater", "_Greater", "1 where lhs > rhs, else 0.", Comparison<Greater>, Comparison<Greater>, kEqual},
    {"_greater_equal", "_Greater_Equal", "1 where lhs >= rhs, else 0.", Comparison<GreaterEqual>,
     Comparison<GreaterEqual>, kEqual},
    {"_lesser", "_Lesser", "1 where lhs < rhs, else 0.", Comparison<Lesser>, Comparison<Lesser>, kEqual},
    {"_lesser_equal", "_Lesser_Equal", "1 where lhs <= rhs, else 0.", Comparison<LesserEqual>, Comparison<LesserEqual>,
     kEqual},
    {"_logical_and", "_Logical_And", "1 where neither is 0, else 0.", Logical<And>, Logical<And>, kEqual},
    {"_logical_or", "_Logical_Or", "0 where both are 0, else 1.", Logical<Or>, Logical<Or>, kEqual},
    {"_logical_xor", "_Logical_Xor", "1 where one of the two is 0, else 0.", Logical<Xor>, Logical<Xor>, kEqual},

    {"_npi_equal", "", "Whether lhs = rhs.", Comparison<Equal>, Comparison<Equal>, kBroadcast, kMixed, Result::kBool},
    {"_npi_not_equal", "", "Whether lhs differs from rhs.", Comparison<NotEqual>, Comparison<NotEqual>, kBroadcast,
     kMixed, Result::kBool},
    {"_npi_greater", "", "Whether lhs > rhs.", Comparison<Greater>, Comparison<Greater>, kBroadcast, kMixed,
     Result::kBool},
    {"_npi_greater_equal", "", "Whether lhs >= rhs.", Comparison<GreaterEqual>, Comparison<GreaterEqual>, kBroadcast,
     kMixed, Result::kBool},
    {"_npi_less", "", "Whether lhs < rhs.", Comparison<Lesser>, Comparison<Lesser>, kBroadcast, kMixed, Result::kBool},
    {"_npi_less_equal", "", "Whether lhs <= rhs.", Comparison<LesserEqual>, Comparison<LesserEqual>, kBroadcast, kMixed,
     Result::kBool},
    {"_npi_logical_and", "", "Whether neither is 0.", Logical<And>, Logical<And>, kBroadcast, kMixed, Result::kBool},
    {"_npi_logical_or", "", "Whether one of the two is not 0.", Logical<Or>, Logical<Or>, kBroadcast, kMixed,
     Result::kBool},
    {"_npi_logical_xor", "", "Whether just one of the two is 0.", Logical<Xor>, Logical<Xor>, kBroadcast, kMixed,
     Result::kBool},

    {"_times_log", "", "lhs * log(rhs): the derivative of a power lhs of rhs by the exponent.", TimesLog,
     CutOff<TimesLog>, kEqual},

    {"_npi_mod", "", "The remainder of lhs / rhs with the sign of rhs; 0 where rhs is 0.", Remainder, Remainder,
     kBroadcast, kMixed},
    {"_npi_power", "", "lhs to the power of rhs.", Power, CutOff<Power>, kBroadcast, kMixed},
    {"_npi_floor_divide", "", "The largest integer up to lhs / rhs; of integers 0 where rhs is 0.", FloorQuotient,
     FloorQuotient, kBroadcast, kMixed},
    {"_npi_fmod", "", "The remainder of lhs / rhs with the sign of lhs; 0 where rhs is 0.", TruncatedRemainder,
     TruncatedRemainder},
    {"_npi_fmax", "", "The larger of lhs and rhs; a number rather than NaN.", FMax,
     [](std::int64_t a, std::int64_t b) { return std::max(a, b); }},
    {"_npi_fmin", "", "The smaller of lhs and rhs; a number rather than NaN.", FMin,
     [](std::int64_t a, std::int64_t b) { return std::min(a, b); }},
    {"_npi_copysign", "", "The magnitude of lhs with the sign of rhs.", CopySign, CutOff<CopySign>},
    {"_npi_ldexp", "", "lhs times 2 to the power of rhs.", LoadExponent, CutOff<LoadExponent>},
    {"_npi_arctan2", "", "The angle of the point (rhs, lhs) in radians.", ArcTan2, nullptr, kBroadcast,
     Operands::kFloat},
    {"_npi_logaddexp", "", "log(exp(lhs) + exp(rhs)).", LogAddExp, nullptr, kBroadcast, Operands::kFloat},

    {"_npi_gcd", "", "The greatest common divisor of lhs and rhs.", nullptr, GreatestDivisor, kBroadcast,
     Operands::kMixedIntegers},
    {"_npi_lcm", "", "The least common multiple of lhs and rhs.", nullptr, LeastMultiple, kBroadcast,
     Operands::kMixedIntegers},
    {"_npi_bitwise_and", "", "The bits that both have.", nullptr, [](std::int64_t a, std::int64_t b) { return a & b; },
     kBroadcast, kBits},
    {"_npi_bitwise_or", "", "The bits that one of the two has.", nullptr,
     [](std::int64_t a, std::int64_t b) { return a | b; }, kBroadcast, kBits},
    {"_npi_bitwise_xor", "", "The bits that just one of the two has.", nullptr,
     [](std::int64_t a, std::int64_t b) { return a ^ b; }, kBroadcast, kBits},
    {"_npi_bitwise_left_shift", "", "The bits of lhs, rhs places to the left.", nullptr, LeftShift, kBroadcast,
     Operands::kMixedIntegers},
    {"_npi_bitwise_right_shift", "", "The bits of lhs, rhs places to the right.", nullptr, RightShift, kBroadcast,
     Operands::kMixedIntegers},
};

// What the functions do to intervals, and which of them change by whole steps. Functions that are not here: nothing is
// known of them.
struct Facts {
  double (*real)(double a, double b);
  RangeFunction range;
  Sensitivity sensitivity = Sensitivity::kSmooth;
};
constexpr Facts kFacts[] = {
    {Remainder, Modulus, Sensitivity::kDiscontinuous},
    {TruncatedRemainder, TruncatedModulus, Sensitivity::kDiscontinuous},
    {FloorQuotient, FloorQuotientOf, Sensitivity::kDiscontinuous},
    {Power, PowerOf, Sensitivity::kPole},  // of the base
    {Hypot, HypotenuseOf},
    {FMax, Hull},  // whichever is a number
    {FMin, Hull},
    {Comparison<Equal>, TruthValue, Sensitivity::kDiscontinuous},
    {Comparison<NotEqual>, TruthValue, Sensitivity::kDiscontinuous},
    {Comparison<Greater>, TruthValue},
    {Comparison<GreaterEqual>, TruthValue},
    {Comparison<Lesser>, TruthValue},
    {Comparison<LesserEqual>, TruthValue},
    {Logical<And>, TruthValue},
    {Logical<Or>, TruthValue},
    {Logical<Xor>, TruthValue},
};

void AddFacts(const Row& row, OpDefinition<NoParam>& definition) {
  for (const Facts& facts : kFacts) {
    if (row.real == nullptr || row.real != facts.real) continue;
    definition.Set(RangeOfTwo(facts.range)).Set(InputSensitivity{[&facts](const Node&, std::size_t slot) {
      const bool is_smooth = facts.sensitivity == Sensitivity::kPole && slot != 0;
      return is_smooth ? Sensitivity::kSmooth : facts.sensitivity;
    }});
  }
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
  WithNumberType(ComputedIn(row, in[0].dtype(), in[1].dtype()), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> a = Numbers<T>(in[0]), b = Numbers<T>(in[1]);
    std::vector<T> y(out.size());
    BroadcastIndex ia(in[0].shape(), out.shape()), ib(in[1].shape(), out.shape());
    for (T& value : y) {
      const T left = a[ia.Next()], right = b[ib.Next()];
      if constexpr (std::is_integral_v<T>) {
        value = row.integer(left, right);
      } else {
        value = static_cast<T>(row.real(static_cast<double>(left), static_cast<double>(right)));
      }
    }
    Store(y, out);
  });
}

// The functions that maps have; they call the reference for others.
using RealFunction = double (*)(double a, double b);
constexpr std::pair<RealFunction, kernels::MapOp> kMapOps[] = {
    {Comparison<Equal>, kernels::MapOp::kEqual},
    {Comparison<NotEqual>, kernels::MapOp::kNotEqual},
    {Comparison<Greater>, kernels::MapOp::kGreater},
    {Comparison<GreaterEqual>, kernels::MapOp::kGreaterEqual},
    {Comparison<Lesser>, kernels::MapOp::kLess},
    {Comparison<LesserEqual>, kernels::MapOp::kLessEqual},
    {Logical<And>, kernels::MapOp::kAnd},
    {Logical<Or>, kernels::MapOp::kOr},
    {Logical<Xor>, kernels::MapOp::kXor},
};

bool LowerByMap(const Row& row, LowerContext& c) {
  if (row.real == nullptr) return false;
  kernels::MapStep step{.op = kernels::MapOp::kFunction2, .x = 0, .y = 1, .function2 = row.real};
  for (const auto& [function, op] : kMapOps) {
    if (row.real == function) step.op = op;
  }
  if (row.real == TimesLog)
    return LowerToMap(c, {{.op = kernels::MapOp::kLog, .x = 1}, {.op = kernels::MapOp::kMul, .x = 0, .y = 2}});
  const bool is_logical =
      step.op == kernels::MapOp::kAnd || step.op == kernels::MapOp::kOr || step.op == kernels::MapOp::kXor;
  return LowerToMap(c, {step}, is_logical ? std::vector{0, 1} : std::vector<int>());
}

// By operand; those of functions that are not here are zero.
struct DerivativeRow {
  double (*real)(double a, double b);
  Term (*of_first)(const Term& a, const Term& b, const Term& y);
  Term (*of_second)(const Term& a, const Term& b, const Term& y);
};
// The remainder of integers changes by steps.
Term OneOfFloats(const Term& y) { return Unary("_float_ones_like", y); }
Term One(const Term&, const Term&, const Term& y) { return OneOfFloats(y); }
constexpr DerivativeRow kDerivatives[] = {
    {Remainder, One,
     [](const Term& a, const Term& b, const Term& y) { return -Unary("floor", a / b) * OneOfFloats(y); }},
    {TruncatedRemainder, One,
     [](const Term& a, const Term& b, const Term& y) { return -Unary("trunc", a / b) * OneOfFloats(y); }},
    {Power,
     [](const Term& a, const Term& b, const Term&) {
       return b * a.context().Call("broadcast_power", {a, b - 1});
     },
     [](const Term& a, const Term&, const Term& y) {
       return y.context().Call("_times_log", {y, a.context().Call("_broadcast_as", {a, y})});
     }},
    {TimesLog, [](const Term&, const Term& b, const Term&) { return Unary("log", b); },
     [](const Term& a, const Term& b, const Term&) { return a / b; }},
    {Hypot, [](const Term& a, const Term&, const Term& y) { return a / y; },
     [](const Term&, const Term& b, const Term& y) { return b / y; }},
    {FMax, [](const Term& a, const Term& b, const Term&) { return a >= b; },
     [](const Term& a, const Term& b, const Term&) { return a < b; }},
    {FMin, [](const Term& a, const Term& b, const Term&) { return a <= b; },
     [](const Term& a, const Term& b, const Term&) { return a > b; }},
    {CopySign, [](const Term& a, const Term&, const Term& y) { return Unary("sign", a) * Unary("sign", y); }, nullptr},
    {LoadExponent, [](const Term&, const Term& b, const Term&) { return WithScalar("_rpower_scalar", b, 2); },
     [](const Term&, const Term&, const Term& y) { return std::numbers::ln2 * y; }},
    {ArcTan2, [](const Term& a, const Term& b, const Term&) { return b / (Unary("square", a) + Unary("square", b)); },
     [](const Term& a, const Term& b, const Term&) { return -a / (Unary("square", a) + Unary("square", b)); }},
    {LogAddExp, [](const Term& a, const Term&, const Term& y) { return Unary("exp", a - y); },
     [](const Term&, const Term& b, const Term& y) { return Unary("exp", b - y); }},
};

void AddGradient(const Row& row, OpDefinition<NoParam>& definition) {
  for (const DerivativeRow& known : kDerivatives) {
    if (row.real == nullptr || row.real != known.real) continue;
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
}  // namespace amp::compare
