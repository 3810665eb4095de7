// Arithmetic of an array with a scalar: a table.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <optional>

#include "ops/common/derivatives.h"
#include "ops/common/map_rules.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/elementwise/functions_of_two.h"
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

struct Row {
  const char* name;
  const char* aliases;
  const char* doc;
  const FunctionOfTwo* function;
  bool is_reversed = false;                                // the scalar comes first
  std::optional<EltwiseSpec> (*work)(double s) = nullptr;  // as one function of oneDNN
  enum Divisor { kNone, kScalar, kData } divisor = kNone;  // a zero is an error for integers
  enum Result { kNumbers, kFloats, kBools, kIntegers, kBits } result = kNumbers;

  bool Is(const FunctionOfTwo& other, bool reversed = false) const {
    return function == &other && is_reversed == reversed;
  }
};

std::optional<EltwiseSpec> Linear(double alpha, double beta) {
  return EltwiseSpec{EltwiseKind::kLinear, static_cast<float>(alpha), static_cast<float>(beta)};
}
// Division is multiplication by the reciprocal, up to rounding, where float has one.
std::optional<EltwiseSpec> Reciprocal(double scalar) {
  const auto s = static_cast<float>(scalar);
  return std::isnormal(s) && std::isnormal(1 / s) ? Linear(1 / scalar, 0) : std::nullopt;
}
std::optional<EltwiseSpec> AddScalar(double s) { return Linear(1, s); }
std::optional<EltwiseSpec> SubtractScalar(double s) { return Linear(1, -s); }
std::optional<EltwiseSpec> SubtractData(double s) { return Linear(-1, s); }
std::optional<EltwiseSpec> Scale(double s) { return Linear(s, 0); }
std::optional<EltwiseSpec> ScaleByLog(double s) { return Linear(std::log(s), 0); }

constexpr bool kReversed = true;

constexpr Row kRows[] = {
    {"_plus_scalar", "_PlusScalar _npi_add_scalar _scatter_plus_scalar", "data + scalar.", &functions::kPlus, false,
     AddScalar},
    {"_minus_scalar", "_MinusScalar _npi_subtract_scalar _scatter_minus_scalar", "data - scalar.", &functions::kMinus,
     false, SubtractScalar},
    {"_rminus_scalar", "_RMinusScalar _npi_rsubtract_scalar", "scalar - data.", &functions::kMinus, kReversed,
     SubtractData},
    {"_mul_scalar", "_MulScalar _npi_multiply_scalar", "data * scalar.", &functions::kTimes, false, Scale},
    {"_div_scalar", "_DivScalar", "data / scalar; integers truncate.", &functions::kOver, false, Reciprocal,
     Row::kScalar},
    {"_rdiv_scalar", "_RDivScalar", "scalar / data; integers truncate.", &functions::kOver, kReversed, nullptr,
     Row::kData},
    {"_npi_true_divide_scalar", "", "data / scalar; integers give float32.", &functions::kOver, false, Reciprocal,
     Row::kNone, Row::kFloats},
    {"_npi_rtrue_divide_scalar", "", "scalar / data; integers give float32.", &functions::kOver, kReversed, nullptr,
     Row::kNone, Row::kFloats},
    {"_mod_scalar", "_ModScalar _npi_mod_scalar", "The remainder of data / scalar with the sign of scalar.",
     &functions::kRemainder},
    {"_rmod_scalar", "_RModScalar _npi_rmod_scalar", "The remainder of scalar / data with the sign of data.",
     &functions::kRemainder, kReversed},
    {"_maximum_scalar", "_MaximumScalar _npi_maximum_scalar", "The larger of data and scalar.", &functions::kLarger},
    {"_minimum_scalar", "_MinimumScalar _npi_minimum_scalar", "The smaller of data and scalar.", &functions::kSmaller},
    {"_power_scalar", "_PowerScalar _npi_power_scalar", "data to the power of scalar.", &functions::kPower},
    {"_rpower_scalar", "_RPowerScalar", "scalar to the power of data.", &functions::kPower, kReversed},
    {"_npi_rpower_scalar", "", "scalar to the power of data.", &functions::kPower, kReversed},
    {"_times_log_scalar", "", "data * log(scalar): the derivative of a power data of scalar.", &functions::kTimesLog,
     false, ScaleByLog},
    {"_equal_scalar", "_EqualScalar", "1 where data = scalar, else 0.", &functions::kEqual},
    {"_not_equal_scalar", "_NotEqualScalar", "1 where data is not scalar, else 0.", &functions::kNotEqual},
    {"_greater_scalar", "_GreaterScalar", "1 where data > scalar, else 0.", &functions::kGreater},
    {"_greater_equal_scalar", "_GreaterEqualScalar", "1 where data >= scalar, else 0.", &functions::kGreaterEqual},
    {"_lesser_scalar", "_LesserScalar", "1 where data < scalar, else 0.", &functions::kLesser},
    {"_lesser_equal_scalar", "_LesserEqualScalar", "1 where data <= scalar, else 0.", &functions::kLesserEqual},
    {"_npi_equal_scalar", "", "Whether data = scalar.", &functions::kEqual, false, nullptr, Row::kNone, Row::kBools},
    {"_npi_not_equal_scalar", "", "Whether data is not scalar.", &functions::kNotEqual, false, nullptr, Row::kNone,
     Row::kBools},
    {"_npi_greater_scalar", "", "Whether data > scalar.", &functions::kGreater, false, nullptr, Row::kNone,
     Row::kBools},
    {"_npi_greater_equal_scalar", "", "Whether data >= scalar.", &functions::kGreaterEqual, false, nullptr, Row::kNone,
     Row::kBools},
    {"_npi_less_scalar", "", "Whether data < scalar.", &functions::kLesser, false, nullptr, Row::kNone, Row::kBools},
    {"_npi_less_equal_scalar", "", "Whether data <= scalar.", &functions::kLesserEqual, false, nullptr, Row::kNone,
     Row::kBools},
    {"_hypot_scalar", "_HypotScalar _npi_hypot_scalar", "sqrt(data * data + scalar * scalar).", &functions::kHypot},
    {"_logical_and_scalar", "_LogicalAndScalar", "1 where neither is 0, else 0.", &functions::kAnd},
    {"_logical_or_scalar", "_LogicalOrScalar", "0 where both are 0, else 1.", &functions::kOr},
    {"_logical_xor_scalar", "_LogicalXorScalar", "1 where one of the two is 0, else 0.", &functions::kXor},
    {"_npi_logical_and_scalar", "", "Whether neither is 0.", &functions::kAnd, false, nullptr, Row::kNone, Row::kBools},
    {"_npi_logical_or_scalar", "", "Whether one of the two is not 0.", &functions::kOr, false, nullptr, Row::kNone,
     Row::kBools},
    {"_npi_logical_xor_scalar", "", "Whether just one of the two is 0.", &functions::kXor, false, nullptr, Row::kNone,
     Row::kBools},
    {"_npi_floor_divide_scalar", "", "The largest integer up to data / scalar; of integers 0 where that is 0.",
     &functions::kFloorQuotient},
    {"_npi_rfloor_divide_scalar", "", "The largest integer up to scalar / data; of integers 0 where data is 0.",
     &functions::kFloorQuotient, kReversed},
    {"_npi_fmod_scalar", "", "The remainder of data / scalar with the sign of data.", &functions::kTruncatedRemainder},
    {"_npi_rfmod_scalar", "", "The remainder of scalar / data with the sign of scalar.",
     &functions::kTruncatedRemainder, kReversed},
    {"_npi_fmax_scalar", "", "The larger of data and scalar; a number rather than NaN.", &functions::kFMax},
    {"_npi_fmin_scalar", "", "The smaller of data and scalar; a number rather than NaN.", &functions::kFMin},
    {"_npi_copysign_scalar", "", "The magnitude of data with the sign of scalar.", &functions::kCopySign},
    {"_npi_rcopysign_scalar", "", "The magnitude of scalar with the sign of data.", &functions::kCopySign, kReversed},
    {"_npi_ldexp_scalar", "", "data times 2 to the power of scalar.", &functions::kLoadExponent},
    {"_npi_rldexp_scalar", "", "scalar times 2 to the power of data.", &functions::kLoadExponent, kReversed},
    {"_npi_arctan2_scalar", "", "The angle of the point (scalar, data) in radians.", &functions::kArcTan2},
    {"_npi_rarctan2_scalar", "", "The angle of the point (data, scalar) in radians.", &functions::kArcTan2, kReversed},
    {"_npi_logaddexp_scalar", "", "log(exp(data) + exp(scalar)).", &functions::kLogAddExp},
    {"_npi_bitwise_and_scalar", "", "The bits that both have.", &functions::kBitAnd, false, nullptr, Row::kNone,
     Row::kBits},
    {"_npi_bitwise_or_scalar", "", "The bits that one of the two has.", &functions::kBitOr, false, nullptr, Row::kNone,
     Row::kBits},
    {"_npi_bitwise_xor_scalar", "", "The bits that just one of the two has.", &functions::kBitXor, false, nullptr,
     Row::kNone, Row::kBits},
    {"_npi_bitwise_left_shift_scalar", "", "The bits of data, scalar places to the left.", &functions::kLeftShift,
     false, nullptr, Row::kNone, Row::kIntegers},
    {"_npi_rbitwise_left_shift_scalar", "", "The bits of scalar, data places to the left.", &functions::kLeftShift,
     kReversed, nullptr, Row::kNone, Row::kIntegers},
    {"_npi_bitwise_right_shift_scalar", "", "The bits of data, scalar places to the right.", &functions::kRightShift,
     false, nullptr, Row::kNone, Row::kIntegers},
    {"_npi_rbitwise_right_shift_scalar", "", "The bits of scalar, data places to the right.", &functions::kRightShift,
     kReversed, nullptr, Row::kNone, Row::kIntegers},
};

// The range with the scalar as it is, and as the arithmetic of the data's dtype has it.
ValueRange RangeWith(const Row& row, const RangeQuery& q, double scalar) {
  const auto with = [&](double s) {
    const ValueRange other = ValueRange::Of(s);
    return row.is_reversed ? row.function->range(other, q.in[0]) : row.function->range(q.in[0], other);
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

Sensitivity SensitivityOf(const Row& row, double scalar) {
  if (row.Is(functions::kPower)) return SensitivityOfPower(scalar);
  return row.is_reversed ? row.function->sensitivity_to_second : row.function->sensitivity_to_first;
}

Algebra AlgebraOf(const Row& row, double scalar) {
  const FunctionOfTwo* linear[] = {&functions::kPlus, &functions::kMinus, &functions::kTimes};
  if (std::find(std::begin(linear), std::end(linear), row.function) != std::end(linear)) return Algebra::kMultiple;
  if (row.Is(functions::kOver)) return Algebra::kMultiple;
  if (row.Is(functions::kPower, kReversed)) return Algebra::kExponential;
  return row.Is(functions::kPower) && scalar == 2 ? Algebra::kSquare : Algebra::kOther;
}

void AddFacts(const Row& row, OpDefinition<ScalarParam>& definition) {
  if (row.function->range == nullptr) return;
  const auto scalar_of = [](const Node& node) { return node.params<ScalarParam>().scalar; };
  definition
      .Set(RangeRule{[&row, scalar_of](const RangeQuery& q, int) { return RangeWith(row, q, scalar_of(q.node)); }})
      .Set(InputSensitivity{
          [&row, scalar_of](const Node& node, std::size_t) { return SensitivityOf(row, scalar_of(node)); }})
      .Set(AlgebraFact{[&row, scalar_of](const Node& node) { return AlgebraOf(row, scalar_of(node)); }});
}

// The function of data and scalar, in its order.
template <class T>
T ValueOf(const Row& row, T (*function)(T, T), T data, T scalar) {
  return row.is_reversed ? function(scalar, data) : function(data, scalar);
}

void RealReference(const Row& row, double scalar, DType dtype, const NDArray& in, NDArray& out) {
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto s = static_cast<double>(static_cast<T>(scalar));
    std::vector<T> values = Numbers<T>(in);
    for (T& value : values) {
      value = static_cast<T>(ValueOf(row, row.function->real, static_cast<double>(value), s));
    }
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
  for (std::int64_t& value : values) value = ValueOf(row, row.function->integer, value, integer);
  Store(values, out);
}

// Register 0 is the data, 1 the scalar.
bool LowerByMap(const Row& row, LowerContext& c) {
  const FunctionOfTwo& function = *row.function;
  if (function.real == nullptr || !IsFloat(c.in_type(0).dtype)) return false;
  const auto scalar = static_cast<float>(c.node().params<ScalarParam>().scalar);
  if (row.Is(functions::kPower) && scalar == 2) return LowerToMap(c, {{.op = kernels::MapOp::kSquare}});
  kernels::MapStep step{.op = function.map_op, .x = 0, .y = 1, .function2 = function.real};
  if (row.is_reversed) std::swap(step.x, step.y);
  return LowerToMap(c, {{.op = kernels::MapOp::kConstant, .alpha = scalar}, step});
}

// Derivatives of functions that are not here are zero.
struct DerivativeRow {
  const FunctionOfTwo* function;
  bool is_reversed;
  Term (*derivative)(const Term& x, const Term& y, double s);
};
constexpr DerivativeRow kDerivatives[] = {
    {&functions::kOver, kReversed, [](const Term& x, const Term& y, double) { return -(y / x); }},
    {&functions::kRemainder, false, [](const Term&, const Term& y, double) { return OneOfFloats(y); }},
    {&functions::kTruncatedRemainder, false, [](const Term&, const Term& y, double) { return OneOfFloats(y); }},
    {&functions::kRemainder, kReversed,
     [](const Term& x, const Term& y, double s) { return -Unary("floor", s / x) * OneOfFloats(y); }},
    {&functions::kTruncatedRemainder, kReversed,
     [](const Term& x, const Term& y, double s) { return -Unary("trunc", s / x) * OneOfFloats(y); }},
    {&functions::kLarger, false, [](const Term& x, const Term&, double s) { return x >= s; }},
    {&functions::kSmaller, false, [](const Term& x, const Term&, double s) { return x <= s; }},
    {&functions::kFMax, false, [](const Term& x, const Term&, double s) { return x >= s; }},
    {&functions::kFMin, false, [](const Term& x, const Term&, double s) { return x <= s; }},
    {&functions::kPower, false, [](const Term& x, const Term&, double s) { return s * Power(x, s - 1); }},
    {&functions::kPower, kReversed,
     [](const Term&, const Term& y, double s) { return WithScalar("_times_log_scalar", y, s); }},
    {&functions::kTimesLog, false,
     [](const Term& x, const Term&, double s) { return std::log(s) * Unary("ones_like", x); }},
    {&functions::kHypot, false, [](const Term& x, const Term& y, double) { return x / y; }},
    {&functions::kArcTan2, false,
     [](const Term& x, const Term&, double s) { return s / (Unary("square", x) + s * s); }},
    {&functions::kArcTan2, kReversed,
     [](const Term& x, const Term&, double s) { return -s / (Unary("square", x) + s * s); }},
    {&functions::kCopySign, false,
     [](const Term& x, const Term& y, double) { return Unary("sign", x) * Unary("sign", y); }},
    {&functions::kLoadExponent, kReversed, [](const Term&, const Term& y, double) { return std::numbers::ln2 * y; }},
    {&functions::kLogAddExp, false, [](const Term& x, const Term& y, double) { return Unary("exp", x - y); }},
};

// What the data is multiplied with.
std::optional<double> Factor(const Row& row, double s) {
  if (row.Is(functions::kPlus) || row.Is(functions::kMinus)) return 1;
  if (row.Is(functions::kMinus, kReversed)) return -1;
  if (row.Is(functions::kTimes)) return s;
  if (row.Is(functions::kLoadExponent)) return std::exp2(s);
  return std::nullopt;
}

void AddGradient(const Row& row, OpDefinition<ScalarParam>& definition) {
  if (row.result != Row::kNumbers && row.result != Row::kFloats) {
    definition.Set(ZeroGradient{"it changes by steps"});
    return;
  }
  const DerivativeRow* known =
      std::find_if(std::begin(kDerivatives), std::end(kDerivatives),
                   [&](const DerivativeRow& other) { return row.Is(*other.function, other.is_reversed); });
  if (known == std::end(kDerivatives) && !row.Is(functions::kOver) && !Factor(row, 1)) {
    definition.Set(ZeroGradient{"it changes by steps"});
    return;
  }
  definition.Set(GradientRule{[&row, known](GradientContext& c) {
    const double s = c.params<ScalarParam>().scalar;
    if (row.Is(functions::kOver)) return c.Set(0, c.gradient() / s);
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
        if (row.work == nullptr) return false;
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
