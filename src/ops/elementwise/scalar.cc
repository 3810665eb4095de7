// Arithmetic of an array with a scalar: a table.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <optional>

#include "ops/common/map_rules.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/remainder.h"
#include "ops/common/rules.h"
#include "ops/common/special.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::scalar {
namespace {

struct ScalarParam {
  double scalar = 1;
  bool is_int = true;
};

// Sums, differences, products and quotients of two floats computed in double and rounded once are those of float.
// Integers wrap modulo 2^64; `divides` says that a zero on the right is an error for them.
struct Row {
  const char* name;
  const char* aliases;
  const char* doc;
  double (*real)(double x, double s);
  std::uint64_t (*integer)(std::int64_t x, std::int64_t s);
  std::optional<EltwiseSpec> (*work)(double s);  // as one function of the library
  enum Divisor { kNone, kScalar, kData } divisor = kNone;
  enum Result { kNumbers, kFloats, kBools, kIntegers, kBits } result = kNumbers;
};

std::uint64_t U(std::int64_t x) { return static_cast<std::uint64_t>(x); }
std::uint64_t Quotient(std::int64_t x, std::int64_t y) {
  if (y == 0) return 0;
  return y == -1 ? 0 - U(x) : U(x / y);  // INT64_MIN / -1 would overflow
}
std::uint64_t Power(std::int64_t x, std::int64_t s) {
  const double power = std::pow(static_cast<double>(x), static_cast<double>(s));
  return std::abs(power) < 9.2e18 ? U(static_cast<std::int64_t>(power)) : 0;
}

std::optional<EltwiseSpec> Linear(double alpha, double beta) {
  return EltwiseSpec{EltwiseKind::kLinear, static_cast<float>(alpha), static_cast<float>(beta)};
}
// Division is multiplication by the reciprocal, up to rounding, where float has one.
std::optional<EltwiseSpec> Reciprocal(double scalar) {
  const auto s = static_cast<float>(scalar);
  return std::isnormal(s) && std::isnormal(1 / s) ? Linear(1 / scalar, 0) : std::nullopt;
}
std::optional<EltwiseSpec> NoWork(double) { return std::nullopt; }

double Plus(double x, double s) { return x + s; }
double Minus(double x, double s) { return x - s; }
double RMinus(double x, double s) { return s - x; }
double Times(double x, double s) { return x * s; }
double Over(double x, double s) { return x / s; }
double ROver(double x, double s) { return s / x; }
double Mod(double x, double s) { return Remainder(x, s); }
double RMod(double x, double s) { return Remainder(s, x); }
double ToPower(double x, double s) { return std::pow(x, s); }
double RToPower(double x, double s) { return std::pow(s, x); }
double Larger(double x, double s) { return x > s || std::isnan(x) ? x : s; }
double Smaller(double x, double s) { return x < s || std::isnan(x) ? x : s; }

std::uint64_t IntPlus(std::int64_t x, std::int64_t s) { return U(x) + U(s); }
std::uint64_t IntMinus(std::int64_t x, std::int64_t s) { return U(x) - U(s); }
std::uint64_t IntRMinus(std::int64_t x, std::int64_t s) { return U(s) - U(x); }
std::uint64_t IntTimes(std::int64_t x, std::int64_t s) { return U(x) * U(s); }
std::uint64_t IntRQuotient(std::int64_t x, std::int64_t s) { return Quotient(s, x); }
std::uint64_t IntMod(std::int64_t x, std::int64_t s) { return U(Remainder(x, s)); }
std::uint64_t IntRMod(std::int64_t x, std::int64_t s) { return U(Remainder(s, x)); }
std::uint64_t IntRPower(std::int64_t x, std::int64_t s) { return Power(s, x); }

std::optional<EltwiseSpec> Sum(double s) { return Linear(1, s); }
std::optional<EltwiseSpec> Difference(double s) { return Linear(1, -s); }
std::optional<EltwiseSpec> RDifference(double s) { return Linear(-1, s); }
std::optional<EltwiseSpec> Product(double s) { return Linear(s, 0); }

// Of integers by way of double, cut off.
template <double (*F)(double, double)>
std::uint64_t CutOff(std::int64_t x, std::int64_t s) {
  const double value = F(static_cast<double>(x), static_cast<double>(s));
  return std::abs(value) < 9.2e18 ? U(static_cast<std::int64_t>(value)) : 0;  // 0 for NaN, too
}
// The same with the operands exchanged.
template <double (*F)(double, double)>
double Reversed(double x, double s) {
  return F(s, x);
}
template <std::int64_t (*F)(std::int64_t, std::int64_t)>
std::uint64_t OfIntegers(std::int64_t x, std::int64_t s) {
  return U(F(x, s));
}
template <std::int64_t (*F)(std::int64_t, std::int64_t)>
std::uint64_t OfIntegersReversed(std::int64_t x, std::int64_t s) {
  return U(F(s, x));
}

double TimesLog(double x, double s) { return x * std::log(s); }
std::optional<EltwiseSpec> ProductWithLog(double s) { return Linear(std::log(s), 0); }
double Hypot(double x, double s) { return std::hypot(x, s); }
double ArcTan2(double x, double s) { return std::atan2(x, s); }
double CopySign(double x, double s) { return std::copysign(x, s); }
double LoadExponent(double x, double s) { return x * std::exp2(s); }
double FMax(double x, double s) { return std::fmax(x, s); }
double FMin(double x, double s) { return std::fmin(x, s); }

template <class Logic>
double RealLogic(double x, double s) {
  return Logic()(x != 0, s != 0) ? 1 : 0;
}
template <class Logic>
std::uint64_t IntegerLogic(std::int64_t x, std::int64_t s) {
  return Logic()(x != 0, s != 0) ? 1 : 0;
}
using And = std::logical_and<>;
using Or = std::logical_or<>;
using Xor = std::not_equal_to<>;  // of bool

template <class Compare>
double Real(double x, double s) {
  return Compare()(x, s) ? 1 : 0;
}
template <class Compare>
std::uint64_t Integer(std::int64_t x, std::int64_t s) {
  return Compare()(x, s) ? 1 : 0;
}
using Equal = std::equal_to<>;
using NotEqual = std::not_equal_to<>;
using Greater = std::greater<>;
using GreaterEqual = std::greater_equal<>;
using Lesser = std::less<>;
using LesserEqual = std::less_equal<>;

constexpr Row kRows[] = {
    {"_plus_scalar", "_PlusScalar _npi_add_scalar _scatter_plus_scalar", "data + scalar.", Plus, IntPlus, Sum},
    {"_minus_scalar", "_MinusScalar _npi_subtract_scalar _scatter_minus_scalar", "data - scalar.", Minus, IntMinus,
     Difference},
    {"_rminus_scalar", "_RMinusScalar _npi_rsubtract_scalar", "scalar - data.", RMinus, IntRMinus, RDifference},
    {"_mul_scalar", "_MulScalar _npi_multiply_scalar", "data * scalar.", Times, IntTimes, Product},
    {"_div_scalar", "_DivScalar", "data / scalar; integers truncate.", Over, Quotient, Reciprocal, Row::kScalar},
    {"_rdiv_scalar", "_RDivScalar", "scalar / data; integers truncate.", ROver, IntRQuotient, NoWork, Row::kData},
    {"_npi_true_divide_scalar", "", "data / scalar; integers give float32.", Over, Quotient, Reciprocal, Row::kNone,
     Row::kFloats},
    {"_npi_rtrue_divide_scalar", "", "scalar / data; integers give float32.", ROver, IntRQuotient, NoWork, Row::kNone,
     Row::kFloats},
    {"_mod_scalar", "_ModScalar _npi_mod_scalar", "The remainder of data / scalar with the sign of scalar.", Mod,
     IntMod, NoWork},
    {"_rmod_scalar", "_RModScalar _npi_rmod_scalar", "The remainder of scalar / data with the sign of data.", RMod,
     IntRMod, NoWork},
    {"_maximum_scalar", "_MaximumScalar _npi_maximum_scalar", "The larger of data and scalar.", Larger,
     [](std::int64_t x, std::int64_t s) { return U(std::max(x, s)); }, NoWork},
    {"_minimum_scalar", "_MinimumScalar _npi_minimum_scalar", "The smaller of data and scalar.", Smaller,
     [](std::int64_t x, std::int64_t s) { return U(std::min(x, s)); }, NoWork},
    {"_power_scalar", "_PowerScalar _npi_power_scalar", "data to the power of scalar.", ToPower, Power, NoWork},
    {"_rpower_scalar", "_RPowerScalar", "scalar to the power of data.", RToPower, IntRPower, NoWork},
    {"_npi_rpower_scalar", "", "scalar to the power of data.", RToPower, IntRPower, NoWork},
    {"_times_log_scalar", "", "data * log(scalar): the derivative of a power data of scalar.", TimesLog,
     CutOff<TimesLog>, ProductWithLog},
    {"_equal_scalar", "_EqualScalar", "1 where data = scalar, else 0.", Real<Equal>, Integer<Equal>, NoWork},
    {"_not_equal_scalar", "_NotEqualScalar", "1 where data is not scalar, else 0.", Real<NotEqual>, Integer<NotEqual>,
     NoWork},
    {"_greater_scalar", "_GreaterScalar", "1 where data > scalar, else 0.", Real<Greater>, Integer<Greater>, NoWork},
    {"_greater_equal_scalar", "_GreaterEqualScalar", "1 where data >= scalar, else 0.", Real<GreaterEqual>,
     Integer<GreaterEqual>, NoWork},
    {"_lesser_scalar", "_LesserScalar", "1 where data < scalar, else 0.", Real<Lesser>, Integer<Lesser>, NoWork},
    {"_lesser_equal_scalar", "_LesserEqualScalar", "1 where data <= scalar, else 0.", Real<LesserEqual>,
     Integer<LesserEqual>, NoWork},
    {"_npi_equal_scalar", "", "Whether data = scalar.", Real<Equal>, Integer<Equal>, NoWork, Row::kNone, Row::kBools},
    {"_npi_not_equal_scalar", "", "Whether data is not scalar.", Real<NotEqual>, Integer<NotEqual>, NoWork, Row::kNone,
     Row::kBools},
    {"_npi_greater_scalar", "", "Whether data > scalar.", Real<Greater>, Integer<Greater>, NoWork, Row::kNone,
     Row::kBools},
    {"_npi_greater_equal_scalar", "", "Whether data >= scalar.", Real<GreaterEqual>, Integer<GreaterEqual>, NoWork,
     Row::kNone, Row::kBools},
    {"_npi_less_scalar", "", "Whether data < scalar.", Real<Lesser>, Integer<Lesser>, NoWork, Row::kNone, Row::kBools},
    {"_npi_less_equal_scalar", "", "Whether data <= scalar.", Real<LesserEqual>, Integer<LesserEqual>, NoWork,
     Row::kNone, Row::kBools},
    {"_hypot_scalar", "_HypotScalar _npi_hypot_scalar", "sqrt(data * data + scalar * scalar).", Hypot, CutOff<Hypot>,
     NoWork},
    {"_logical_and_scalar", "_LogicalAndScalar", "1 where neither is 0, else 0.", RealLogic<And>, IntegerLogic<And>,
     NoWork},
    {"_logical_or_scalar", "_LogicalOrScalar", "0 where both are 0, else 1.", RealLogic<Or>, IntegerLogic<Or>, NoWork},
    {"_logical_xor_scalar", "_LogicalXorScalar", "1 where one of the two is 0, else 0.", RealLogic<Xor>,
     IntegerLogic<Xor>, NoWork},
    {"_npi_logical_and_scalar", "", "Whether neither is 0.", RealLogic<And>, IntegerLogic<And>, NoWork, Row::kNone,
     Row::kBools},
    {"_npi_logical_or_scalar", "", "Whether one of the two is not 0.", RealLogic<Or>, IntegerLogic<Or>, NoWork,
     Row::kNone, Row::kBools},
    {"_npi_logical_xor_scalar", "", "Whether just one of the two is 0.", RealLogic<Xor>, IntegerLogic<Xor>, NoWork,
     Row::kNone, Row::kBools},
    {"_npi_floor_divide_scalar", "", "The largest integer up to data / scalar; of integers 0 where that is 0.",
     FloorQuotient, OfIntegers<FloorQuotient>, NoWork},
    {"_npi_rfloor_divide_scalar", "", "The largest integer up to scalar / data; of integers 0 where data is 0.",
     Reversed<FloorQuotient>, OfIntegersReversed<FloorQuotient>, NoWork},
    {"_npi_fmod_scalar", "", "The remainder of data / scalar with the sign of data.", TruncatedRemainder,
     OfIntegers<TruncatedRemainder>, NoWork},
    {"_npi_rfmod_scalar", "", "The remainder of scalar / data with the sign of scalar.", Reversed<TruncatedRemainder>,
     OfIntegersReversed<TruncatedRemainder>, NoWork},
    {"_npi_fmax_scalar", "", "The larger of data and scalar; a number rather than NaN.", FMax,
     [](std::int64_t x, std::int64_t s) { return U(std::max(x, s)); }, NoWork},
    {"_npi_fmin_scalar", "", "The smaller of data and scalar; a number rather than NaN.", FMin,
     [](std::int64_t x, std::int64_t s) { return U(std::min(x, s)); }, NoWork},
    {"_npi_copysign_scalar", "", "The magnitude of data with the sign of scalar.", CopySign, CutOff<CopySign>, NoWork},
    {"_npi_rcopysign_scalar", "", "The magnitude of scalar with the sign of data.", Reversed<CopySign>,
     CutOff<Reversed<CopySign>>, NoWork},
    {"_npi_ldexp_scalar", "", "data times 2 to the power of scalar.", LoadExponent, CutOff<LoadExponent>, NoWork},
    {"_npi_rldexp_scalar", "", "scalar times 2 to the power of data.", Reversed<LoadExponent>,
     CutOff<Reversed<LoadExponent>>, NoWork},
    {"_npi_arctan2_scalar", "", "The angle of the point (scalar, data) in radians.", ArcTan2, CutOff<ArcTan2>, NoWork},
    {"_npi_rarctan2_scalar", "", "The angle of the point (data, scalar) in radians.", Reversed<ArcTan2>,
     CutOff<Reversed<ArcTan2>>, NoWork},
    {"_npi_logaddexp_scalar", "", "log(exp(data) + exp(scalar)).", LogAddExp, CutOff<LogAddExp>, NoWork},
    {"_npi_bitwise_and_scalar", "", "The bits that both have.", nullptr,
     [](std::int64_t x, std::int64_t s) { return U(x & s); }, NoWork, Row::kNone, Row::kBits},
    {"_npi_bitwise_or_scalar", "", "The bits that one of the two has.", nullptr,
     [](std::int64_t x, std::int64_t s) { return U(x | s); }, NoWork, Row::kNone, Row::kBits},
    {"_npi_bitwise_xor_scalar", "", "The bits that just one of the two has.", nullptr,
     [](std::int64_t x, std::int64_t s) { return U(x ^ s); }, NoWork, Row::kNone, Row::kBits},
    {"_npi_bitwise_left_shift_scalar", "", "The bits of data, scalar places to the left.", nullptr,
     OfIntegers<LeftShift>, NoWork, Row::kNone, Row::kIntegers},
    {"_npi_rbitwise_left_shift_scalar", "", "The bits of scalar, data places to the left.", nullptr,
     OfIntegersReversed<LeftShift>, NoWork, Row::kNone, Row::kIntegers},
    {"_npi_bitwise_right_shift_scalar", "", "The bits of data, scalar places to the right.", nullptr,
     OfIntegers<RightShift>, NoWork, Row::kNone, Row::kIntegers},
    {"_npi_rbitwise_right_shift_scalar", "", "The bits of scalar, data places to the right.", nullptr,
     OfIntegersReversed<RightShift>, NoWork, Row::kNone, Row::kIntegers},
};

// What the functions do to intervals, how they treat errors and what they mean. Functions that are not here: nothing is
// known of them.
struct Facts {
  double (*real)(double x, double s);
  RangeFunction range;
  bool is_reversed = false;  // the scalar comes first
  Algebra algebra = Algebra::kOther;
  Sensitivity sensitivity = Sensitivity::kSmooth;
};
constexpr Facts kFacts[] = {
    {Plus, amp::Sum, false, Algebra::kMultiple},
    {Minus, amp::Difference, false, Algebra::kMultiple},
    {RMinus, amp::Difference, true, Algebra::kMultiple},
    {Times, amp::Product, false, Algebra::kMultiple},
    {Over, amp::Quotient, false, Algebra::kMultiple},
    {ROver, amp::Quotient, true, Algebra::kOther, Sensitivity::kPole},
    {Mod, Modulus, false, Algebra::kOther, Sensitivity::kDiscontinuous},
    {RMod, Modulus, true, Algebra::kOther, Sensitivity::kDiscontinuous},
    {TruncatedRemainder, TruncatedModulus, false, Algebra::kOther, Sensitivity::kDiscontinuous},
    {Reversed<TruncatedRemainder>, TruncatedModulus, true, Algebra::kOther, Sensitivity::kDiscontinuous},
    {FloorQuotient, FloorQuotientOf, false, Algebra::kOther, Sensitivity::kDiscontinuous},
    {Reversed<FloorQuotient>, FloorQuotientOf, true, Algebra::kOther, Sensitivity::kDiscontinuous},
    {Larger, Maximum},
    {Smaller, Minimum},
    {FMax, Hull},  // whichever is a number
    {FMin, Hull},
    {ToPower, PowerOf},
    {RToPower, PowerOf, true, Algebra::kExponential},
    {Hypot, HypotenuseOf},
    {Real<Equal>, TruthValue, false, Algebra::kOther, Sensitivity::kDiscontinuous},
    {Real<NotEqual>, TruthValue, false, Algebra::kOther, Sensitivity::kDiscontinuous},
    {Real<Greater>, TruthValue},
    {Real<GreaterEqual>, TruthValue},
    {Real<Lesser>, TruthValue},
    {Real<LesserEqual>, TruthValue},
    {RealLogic<And>, TruthValue},
    {RealLogic<Or>, TruthValue},
    {RealLogic<Xor>, TruthValue},
};

// Of the scalar as it is, and as the arithmetic of the data's dtype has it.
ValueRange RangeWith(const Facts& facts, const RangeQuery& q, double scalar) {
  const auto with = [&](double s) {
    const ValueRange other = ValueRange::Of(s);
    return facts.is_reversed ? facts.range(other, q.in[0]) : facts.range(q.in[0], other);
  };
  const DType dtype = q.dtype();
  if (dtype == DType::kFloat64) return with(scalar);
  const double rounded = IsFloat(dtype) ? static_cast<double>(static_cast<float>(scalar)) : std::trunc(scalar);
  return IsFloat(dtype) || rounded == scalar ? with(rounded) : Hull(with(scalar), with(rounded));
}

// Infinite at 0 where the exponent is negative, no number below where it is no whole one.
Sensitivity SensitivityOfPower(double exponent) {
  return exponent < 0 || exponent != std::floor(exponent) ? Sensitivity::kPole : Sensitivity::kSmooth;
}

void AddFacts(const Row& row, OpDefinition<ScalarParam>& definition) {
  for (const Facts& facts : kFacts) {
    if (row.real == nullptr || row.real != facts.real) continue;
    definition
        .Set(RangeRule{
            [&facts](const RangeQuery& q, int) { return RangeWith(facts, q, q.node.params<ScalarParam>().scalar); }})
        .Set(InputSensitivity{[&facts](const Node& node, std::size_t) {
          return facts.real == ToPower ? SensitivityOfPower(node.params<ScalarParam>().scalar) : facts.sensitivity;
        }})
        .Set(AlgebraFact{[&facts](const Node& node) {
          const bool squares = facts.range == PowerOf && !facts.is_reversed && node.params<ScalarParam>().scalar == 2;
          return squares ? Algebra::kSquare : facts.algebra;
        }});
  }
}

void RealReference(const Row& row, double scalar, DType dtype, const NDArray& in, NDArray& out) {
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto s = static_cast<double>(static_cast<T>(scalar));
    std::vector<T> values = Numbers<T>(in);
    for (T& value : values) value = static_cast<T>(row.real(static_cast<double>(value), s));
    Store(values, out);
  });
}

// Bits of the data's dtype, whatever the scalar is; those of bool are one bit.
void InferIntegers(const Row& row, DTypeRelation& r) {
  const DType data = r.in(0);
  if (IsKnown(data) && (IsFloat(data) || (data == DType::kBool && row.result == Row::kIntegers))) {
    FailAt(r.node(), "expected data of integers{}, got {}", row.result == Row::kBits ? " or bool" : "", NameOf(data));
  }
  r.AllSame();
}

// A scalar that is no integer (2.0 says so) makes floats of integers.
void InferDType(const Row& row, DTypeRelation& r) {
  const DType data = r.in(0);
  if (row.result == Row::kIntegers || row.result == Row::kBits) return InferIntegers(row, r);
  if (row.result == Row::kBools) return r.Out(0, DType::kBool);
  if (IsFloat(data) || !IsKnown(data)) return r.AllSame();
  const bool is_int = r.node().params<ScalarParam>().is_int;
  const DType integer = data == DType::kBool ? DType::kInt64 : data;
  r.Out(0, row.result == Row::kFloats ? DType::kFloat32 : is_int ? integer : DType::kFloat64);
}

// Comparisons of integers with a scalar that is no integer are those of floats, too.
DType ComputedIn(const Row& row, const Node& node, DType in, DType out) {
  if (row.result == Row::kBits || row.result == Row::kIntegers) return in;
  if (IsFloat(in) || out != DType::kBool) return IsFloat(in) ? in : out;
  return node.params<ScalarParam>().is_int ? in : DType::kFloat64;
}

void Reference(const Row& row, const Node& node, const NDArray& in, NDArray& out) {
  const double scalar = node.params<ScalarParam>().scalar;
  const DType dtype = ComputedIn(row, node, in.dtype(), out.dtype());
  if (IsFloat(dtype)) return RealReference(row, scalar, dtype, in, out);
  if (!(scalar > -9.2e18 && scalar < 9.2e18)) FailAt(node, "scalar {} does not fit an integer array", scalar);
  const bool one_bit = row.result == Row::kBits && dtype == DType::kBool;
  const auto integer = one_bit ? std::int64_t{scalar != 0} : static_cast<std::int64_t>(scalar);
  std::vector<std::int64_t> values = Numbers<std::int64_t>(in);
  const bool by_zero = (row.divisor == Row::kScalar && integer == 0) ||
                       (row.divisor == Row::kData && std::find(values.begin(), values.end(), 0) != values.end());
  if (by_zero) FailAt(node, "division of integers by zero");
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(row.integer(value, integer));
  Store(values, out);
}

// The functions that maps have; they call the reference for others.
struct MapForm {
  double (*real)(double x, double s);
  kernels::MapOp op;
  bool is_reversed = false;
};
constexpr MapForm kMapForms[] = {
    {Plus, kernels::MapOp::kAdd},
    {Minus, kernels::MapOp::kSub},
    {RMinus, kernels::MapOp::kSub, true},
    {Times, kernels::MapOp::kMul},
    {Over, kernels::MapOp::kDiv},
    {ROver, kernels::MapOp::kDiv, true},
    {Larger, kernels::MapOp::kMax},
    {Smaller, kernels::MapOp::kMin},
    {Real<Equal>, kernels::MapOp::kEqual},
    {Real<NotEqual>, kernels::MapOp::kNotEqual},
    {Real<Greater>, kernels::MapOp::kGreater},
    {Real<GreaterEqual>, kernels::MapOp::kGreaterEqual},
    {Real<Lesser>, kernels::MapOp::kLess},
    {Real<LesserEqual>, kernels::MapOp::kLessEqual},
    {RealLogic<And>, kernels::MapOp::kAnd},
    {RealLogic<Or>, kernels::MapOp::kOr},
    {RealLogic<Xor>, kernels::MapOp::kXor},
};

// Register 0 is the data, 1 the scalar.
bool LowerByMap(const Row& row, LowerContext& c) {
  if (row.real == nullptr || !IsFloat(c.in_type(0).dtype)) return false;
  const auto scalar = static_cast<float>(c.node().params<ScalarParam>().scalar);
  kernels::MapStep step{.op = kernels::MapOp::kFunction2, .x = 0, .y = 1, .function2 = row.real};
  for (const MapForm& form : kMapForms) {
    if (row.real != form.real) continue;
    step.op = form.op;
    if (form.is_reversed) std::swap(step.x, step.y);
  }
  if (row.real == ToPower && scalar == 2) return LowerToMap(c, {{.op = kernels::MapOp::kSquare}});
  return LowerToMap(c, {{.op = kernels::MapOp::kConstant, .alpha = scalar}, step});
}

// The remainder of integers changes by steps.
Term OneOfFloats(const Term& y) { return Unary("_float_ones_like", y); }

// Those of functions that are not here are zero.
struct DerivativeRow {
  double (*real)(double x, double s);
  Term (*derivative)(const Term& x, const Term& y, double s);
};
constexpr DerivativeRow kDerivatives[] = {
    {ROver, [](const Term& x, const Term& y, double) { return -(y / x); }},
    {Mod, [](const Term&, const Term& y, double) { return OneOfFloats(y); }},
    {TruncatedRemainder, [](const Term&, const Term& y, double) { return OneOfFloats(y); }},
    {RMod, [](const Term& x, const Term& y, double s) { return -Unary("floor", s / x) * OneOfFloats(y); }},
    {Reversed<TruncatedRemainder>,
     [](const Term& x, const Term& y, double s) { return -Unary("trunc", s / x) * OneOfFloats(y); }},
    {Larger, [](const Term& x, const Term&, double s) { return x >= s; }},
    {Smaller, [](const Term& x, const Term&, double s) { return x <= s; }},
    {FMax, [](const Term& x, const Term&, double s) { return x >= s; }},
    {FMin, [](const Term& x, const Term&, double s) { return x <= s; }},
    {ToPower, [](const Term& x, const Term&, double s) { return s * Power(x, s - 1); }},
    {RToPower, [](const Term&, const Term& y, double s) { return WithScalar("_times_log_scalar", y, s); }},
    {TimesLog, [](const Term& x, const Term&, double s) { return std::log(s) * Unary("ones_like", x); }},
    {Hypot, [](const Term& x, const Term& y, double) { return x / y; }},
    {ArcTan2, [](const Term& x, const Term&, double s) { return s / (Unary("square", x) + s * s); }},
    {Reversed<ArcTan2>, [](const Term& x, const Term&, double s) { return -s / (Unary("square", x) + s * s); }},
    {CopySign, [](const Term& x, const Term& y, double) { return Unary("sign", x) * Unary("sign", y); }},
    {Reversed<LoadExponent>, [](const Term&, const Term& y, double) { return std::numbers::ln2 * y; }},
    {LogAddExp, [](const Term& x, const Term& y, double) { return Unary("exp", x - y); }},
};

// What the data is multiplied with.
std::optional<double> Factor(const Row& row, double s) {
  if (row.real == Plus || row.real == Minus) return 1;
  if (row.real == RMinus) return -1;
  if (row.real == Times) return s;
  if (row.real == LoadExponent) return std::exp2(s);
  return std::nullopt;
}

void AddGradient(const Row& row, OpDefinition<ScalarParam>& definition) {
  if (row.result != Row::kNumbers && row.result != Row::kFloats) {
    definition.Set(ZeroGradient{"it changes by steps"});
    return;
  }
  const DerivativeRow* known = std::find_if(std::begin(kDerivatives), std::end(kDerivatives),
                                            [&](const DerivativeRow& other) { return other.real == row.real; });
  if (known == std::end(kDerivatives) && row.real != Over && !Factor(row, 1)) {
    definition.Set(ZeroGradient{"it changes by steps"});
    return;
  }
  definition.Set(GradientRule{[&row, known](GradientContext& c) {
    const double s = c.params<ScalarParam>().scalar;
    if (row.real == Over) return c.Set(0, c.gradient() / s);
    const std::optional<double> factor = Factor(row, s);
    if (factor) return c.Set(0, *factor == 1 ? c.gradient() : c.gradient() * *factor);
    const bool may_widen = !c.params<ScalarParam>().is_int;  // of integers: the result is float64
    const Term x = may_widen ? c.Call("_cast_like", {c.in(0), c.out()}) : c.in(0);
    c.Set(0, c.gradient() * known->derivative(x, c.out(), s));
  }});
}

void Register(const Row& row) {
  auto op = RegisterOp<ScalarParam>(row.name);
  AddAliases(op, row.aliases);
  AddFacts(row, op);
  AddGradient(row, op);
  op.Doc(row.doc)
      .Params(
          ParamSchema<ScalarParam>()
              .Optional("scalar", &ScalarParam::scalar, "The other operand; integer data truncates it.")
              .Optional("is_int", &ScalarParam::is_int, "False: integer data gives float64. True: bool gives int64."))
      .Inputs({"data"})
      .Set(SameShape())
      .Set(DTypeRule{[&row](DTypeRelation& r) { InferDType(row, r); }})
      .Set(AmpFacts{Arithmetic::kElementwise})
      .Set(IsElementwise{})
      .Set(ReferenceKernel{[&row](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        Reference(row, node, in[0], out[0]);
      }})
      .Set(LowerRule{[&row](LowerContext& c) {
        const auto work = row.work(c.node().params<ScalarParam>().scalar);
        if (!work) return false;
        c.SetOut(0, c.Emit(*work, {c.Cast(c.in(0), c.out_type(0).dtype)}, c.out_type(0)));
        return true;
      }})
      .Set(KernelRule{[&row](LowerContext& c) { return LowerByMap(row, c); }});
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Row& row : kRows) Register(row);
  return true;
}();

}  // namespace
}  // namespace amp::scalar
