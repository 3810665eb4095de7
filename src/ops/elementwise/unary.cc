// Functions of one element: a table.
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "ops/common/derivatives.h"
#include "ops/common/map_rules.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/common/special.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/map_steps.h"
#include "program/reference.h"

namespace amp::unary {
namespace {

struct Row {
  const char* name;
  const char* aliases;
  const char* doc;
  double (*reference)(double);
  std::optional<EltwiseKind> kind;                  // where oneDNN has it
  bool commutes = false;                            // with rounding, bit by bit
  std::int64_t (*integer)(std::int64_t) = nullptr;  // absent: what the float32 result is cut off to
};

// Modulo 2^64.
std::int64_t Negative(std::int64_t x) { return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x)); }
std::int64_t Square(std::int64_t x) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(x));
}

std::int64_t Same(std::int64_t x) { return x; }

// A NaN is its own sign.
template <class T>
T SignOf(T x) {
  return x > 0 ? T{1} : x < 0 ? T{-1} : x;
}

// The derivative of the logarithm of the gamma function: by recurrence up to 10, then by its asymptotic series
// (Abramowitz and Stegun 6.3.5, 6.3.7, 6.3.18). NaN at the poles 0, -1, ...
double Digamma(double x) {
  if (x <= 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    return Digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * x);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  const double f = 1 / (x * x);
  const double series =
      f * (1.0 / 12 - f * (1.0 / 120 - f * (1.0 / 252 - f * (1.0 / 240 - f * (1.0 / 132 - f * 691 / 32760)))));
  return sum + std::log(x) - 0.5 / x - series;
}

// The second derivative of that logarithm, likewise (6.4.6, 6.4.7, 6.4.12).
double Trigamma(double x) {
  if (x <= 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    const double sine = std::sin(std::numbers::pi * x);
    return std::numbers::pi * std::numbers::pi / (sine * sine) - Trigamma(1 - x);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum += 1 / (x * x);
  const double f = 1 / (x * x);
  const double series = 1.0 / 6 - f * (1.0 / 30 - f * (1.0 / 42 - f * (1.0 / 30 - f * (5.0 / 66 - f * 691 / 2730))));
  return sum + 1 / x + f / 2 + f / x * series;
}

constexpr double kDegree = std::numbers::pi / 180;

// What a function does to an interval. Rows that are not here: nothing is known of their results.
enum class Course {
  kIncreasing,
  kDecreasing,
  kEven,      // increasing with the magnitude
  kOverZero,  // decreasing above 0, infinite at 0
  kWave,      // between -1 and 1
};
enum class Wholes { kNone, kKept, kAll };  // which results are whole numbers
struct Interval {
  const char* name;
  Course course;
  double from = -ValueRange::kInfinity, to = ValueRange::kInfinity;  // where it has values
  Wholes wholes = Wholes::kNone;
};
constexpr double kInf = ValueRange::kInfinity;

constexpr Interval kIntervals[] = {
    {"relu", Course::kIncreasing, -kInf, kInf, Wholes::kKept},
    {"sigmoid", Course::kIncreasing},
    {"tanh", Course::kIncreasing},
    {"exp", Course::kIncreasing},
    {"log", Course::kIncreasing, 0},
    {"sqrt", Course::kIncreasing, 0},
    {"square", Course::kEven, -kInf, kInf, Wholes::kKept},
    {"abs", Course::kEven, -kInf, kInf, Wholes::kKept},
    {"floor", Course::kIncreasing, -kInf, kInf, Wholes::kAll},
    {"ceil", Course::kIncreasing, -kInf, kInf, Wholes::kAll},
    {"trunc", Course::kIncreasing, -kInf, kInf, Wholes::kAll},
    {"fix", Course::kIncreasing, -kInf, kInf, Wholes::kAll},
    {"round", Course::kIncreasing, -kInf, kInf, Wholes::kAll},
    {"rint", Course::kIncreasing, -kInf, kInf, Wholes::kAll},
    {"_contrib_round_ste", Course::kIncreasing, -kInf, kInf, Wholes::kAll},
    {"_contrib_sign_ste", Course::kIncreasing, -kInf, kInf, Wholes::kAll},
    {"sign", Course::kIncreasing, -kInf, kInf, Wholes::kAll},
    {"negative", Course::kDecreasing, -kInf, kInf, Wholes::kKept},
    {"reciprocal", Course::kOverZero},
    {"rsqrt", Course::kOverZero},
    {"rcbrt", Course::kOverZero},
    {"cbrt", Course::kIncreasing},
    {"log2", Course::kIncreasing, 0},
    {"log10", Course::kIncreasing, 0},
    {"log1p", Course::kIncreasing, -1},
    {"expm1", Course::kIncreasing},
    {"erf", Course::kIncreasing},
    {"sin", Course::kWave},
    {"cos", Course::kWave},
    {"arctan", Course::kIncreasing},
    {"softsign", Course::kIncreasing},
    {"arcsin", Course::kIncreasing, -1, 1},
    {"arccos", Course::kDecreasing, -1, 1},
    {"sinh", Course::kIncreasing},
    {"cosh", Course::kEven},
    {"arcsinh", Course::kIncreasing},
    {"arccosh", Course::kIncreasing, 1},
    {"arctanh", Course::kIncreasing, -1, 1},
    {"degrees", Course::kIncreasing},
    {"radians", Course::kIncreasing},
    {"log_sigmoid", Course::kIncreasing},
};

const Row kRows[] = {
    {"relu", "_npx_relu _sparse_relu", "The larger of x and 0.",
     [](double x) { return x > 0 || std::isnan(x) ? x : 0.0; }, EltwiseKind::kRelu, true,
     [](std::int64_t x) { return x > 0 ? x : 0; }},
    {"sigmoid", "_npx_sigmoid _sparse_sigmoid", "1 / (1 + exp(-x)).", [](double x) { return 1 / (1 + std::exp(-x)); },
     EltwiseKind::kSigmoid},
    {"tanh", "_npi_tanh _sparse_tanh", "Hyperbolic tangent.", [](double x) { return std::tanh(x); },
     EltwiseKind::kTanh},
    {"exp", "_npi_exp _sparse_exp", "e to the power of x.", [](double x) { return std::exp(x); }, EltwiseKind::kExp},
    {"log", "_npi_log _sparse_log", "Natural logarithm.", [](double x) { return std::log(x); }, EltwiseKind::kLog},
    {"sqrt", "_npi_sqrt _sparse_sqrt", "Square root.", [](double x) { return std::sqrt(x); }, EltwiseKind::kSqrt},
    {"square", "_npi_square _sparse_square", "The square, x * x.", [](double x) { return x * x; }, EltwiseKind::kSquare,
     false, Square},
    {"abs", "_npi_absolute _npi_abs _sparse_abs", "Absolute value.", [](double x) { return std::fabs(x); },
     EltwiseKind::kAbs, true, [](std::int64_t x) { return x < 0 ? Negative(x) : x; }},
    {"floor",
     "_npi_floor _sparse_floor",
     "The largest integer up to x.",
     [](double x) { return std::floor(x); },
     {},
     false,
     Same},
    {"ceil",
     "_npi_ceil _sparse_ceil",
     "The smallest integer from x.",
     [](double x) { return std::ceil(x); },
     {},
     false,
     Same},
    {"trunc",
     "_npi_trunc _sparse_trunc",
     "The nearest integer towards 0.",
     [](double x) { return std::trunc(x); },
     {},
     false,
     Same},
    {"fix",
     "_npi_fix _sparse_fix",
     "The nearest integer towards 0.",
     [](double x) { return std::trunc(x); },
     {},
     false,
     Same},
    {"round",
     "_sparse_round",
     "The nearest integer, away from 0 in the middle.",
     [](double x) { return std::round(x); },
     {},
     false,
     Same},
    {"_contrib_round_ste",
     "_npx_round_ste _sparse_round_ste _sparse__contrib_round_ste",
     "The nearest integer, away from 0 in the middle, with the gradient of x (straight through).",
     [](double x) { return std::round(x); },
     {},
     false,
     Same},
    {"_contrib_sign_ste",
     "_npx_sign_ste _sparse_sign_ste _sparse__contrib_sign_ste",
     "The sign: -1, 0 or 1, with the gradient of x (straight through).",
     SignOf<double>,
     {},
     false,
     SignOf<std::int64_t>},
    {"rint",
     "_npi_rint _sparse_rint",
     "The nearest integer, downwards in the middle.",
     [](double x) { return std::ceil(x - 0.5); },
     {},
     false,
     Same},
    {"sign", "_npi_sign _sparse_sign", "The sign: -1, 0 or 1.", SignOf<double>, {}, false, SignOf<std::int64_t>},
    {"negative",
     "_npi_negative _sparse_negative",
     "The negative, -x.",
     [](double x) { return -x; },
     {},
     true,
     Negative},
    {"reciprocal", "_npi_reciprocal", "The reciprocal, 1 / x.", [](double x) { return 1 / x; }, {}},
    {"rsqrt", "_sparse_rsqrt", "The reciprocal of the square root.", [](double x) { return 1 / std::sqrt(x); }, {}},
    {"cbrt", "_npi_cbrt _sparse_cbrt", "The cube root.", [](double x) { return std::cbrt(x); }, {}},
    {"log2", "_npi_log2 _sparse_log2", "Logarithm to base 2.", [](double x) { return std::log2(x); }, {}},
    {"log10", "_npi_log10 _sparse_log10", "Logarithm to base 10.", [](double x) { return std::log10(x); }, {}},
    {"log1p", "_npi_log1p _sparse_log1p", "The logarithm of 1 + x.", [](double x) { return std::log1p(x); }, {}},
    {"expm1", "_npi_expm1 _sparse_expm1", "The exponential minus 1.", [](double x) { return std::expm1(x); }, {}},
    {"erf", "_npx_erf", "The error function.", [](double x) { return std::erf(x); }, {}},
    {"sin", "_npi_sin _sparse_sin", "The sine of radians.", [](double x) { return std::sin(x); }, {}},
    {"cos", "_npi_cos _sparse_cos", "The cosine of radians.", [](double x) { return std::cos(x); }, {}},
    {"arctan", "_npi_arctan _sparse_arctan", "Inverse tangent.", [](double x) { return std::atan(x); }, {}},
    {"softsign", "_npx_softsign", "x / (1 + |x|).", [](double x) { return x / (1 + std::fabs(x)); }, {}},
    {"rcbrt", "", "The reciprocal of the cube root.", [](double x) { return 1 / std::cbrt(x); }, {}},
    {"tan", "_npi_tan _sparse_tan", "The tangent of radians.", [](double x) { return std::tan(x); }, {}},
    {"arcsin", "_npi_arcsin _sparse_arcsin", "Inverse sine.", [](double x) { return std::asin(x); }, {}},
    {"arccos", "_npi_arccos _sparse_arccos", "Inverse cosine.", [](double x) { return std::acos(x); }, {}},
    {"sinh", "_npi_sinh _sparse_sinh", "Hyperbolic sine.", [](double x) { return std::sinh(x); }, {}},
    {"cosh", "_npi_cosh _sparse_cosh", "Hyperbolic cosine.", [](double x) { return std::cosh(x); }, {}},
    {"arcsinh", "_npi_arcsinh _sparse_arcsinh", "Inverse hyperbolic sine.", [](double x) { return std::asinh(x); }, {}},
    {"arccosh",
     "_npi_arccosh _sparse_arccosh",
     "Inverse hyperbolic cosine.",
     [](double x) { return std::acosh(x); },
     {}},
    {"arctanh",
     "_npi_arctanh _sparse_arctanh",
     "Inverse hyperbolic tangent.",
     [](double x) { return std::atanh(x); },
     {}},
    {"degrees", "_npi_degrees _sparse_degrees", "Radians in degrees.", [](double x) { return x / kDegree; }, {}},
    {"radians", "_npi_radians _sparse_radians", "Degrees in radians.", [](double x) { return x * kDegree; }, {}},
    {"erfinv", "_npx_erfinv", "The inverse of the error function.", ErfInv, {}},
    {"gamma", "_npx_gamma _sparse_gamma", "The gamma function.", [](double x) { return std::tgamma(x); }, {}},
    {"gammaln", "_npx_gammaln _sparse_gammaln", "The logarithm of the gamma function's magnitude.", LogGamma, {}},
    {"digamma", "_sparse_digamma _npx_digamma", "The derivative of the logarithm of the gamma function.", Digamma, {}},
    {"_trigamma", "", "The derivative of digamma.", Trigamma, {}},
    {"log_sigmoid", "_sparse_log_sigmoid", "The logarithm of the sigmoid.", [](double x) { return -SoftPlus(-x); },
     EltwiseKind::kLogSigmoid},
    {"mish", "_sparse_mish", "x * tanh(log(1 + exp(x))).", [](double x) { return x * std::tanh(SoftPlus(x)); },
     EltwiseKind::kMish},
};

// Computes as MXNet's `nd` does: the function in float32, cut off to an integer.
void ReferenceOfIntegers(const Row& row, const NDArray& in, NDArray& out) {
  auto values = Numbers<float>(in);
  for (float& value : values) value = static_cast<float>(row.reference(static_cast<double>(value)));
  Store(values, out);
}

void Reference(const Row& row, const NDArray& in, NDArray& out) {
  if (!IsFloat(in.dtype()) && row.integer == nullptr) return ReferenceOfIntegers(row, in, out);
  MapElements(in, out, [&](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>) {
      return row.integer(x);
    } else {
      return static_cast<decltype(x)>(row.reference(static_cast<double>(x)));
    }
  });
}

// Integers stay integers, as in all versions.
void InferDType(DTypeRelation& r) {
  r.AllSame();
  if (r.in(0) == DType::kBool) FailAt(r.node(), "expected data of numbers, got bool");
}

ValueRange RangeOf(const Row& row, const Interval& interval, const ValueRange& in) {
  const ValueRange legal{std::max(in.low, interval.from), std::min(in.high, interval.to)};
  if (!(legal.low <= legal.high)) return {};  // NaN throughout
  ValueRange out;
  switch (interval.course) {
    case Course::kIncreasing:
      out = Increasing(row.reference, legal);
      break;
    case Course::kDecreasing:
      out = Negative(Increasing([&](double x) { return -row.reference(x); }, legal));
      break;
    case Course::kEven:
      out = Increasing(row.reference, Absolute(legal));
      break;
    case Course::kOverZero:
      if (legal.low > 0) out = Negative(Increasing([&](double x) { return -row.reference(x); }, legal));
      break;
    case Course::kWave:
      out = {-1, 1};
      break;
  }
  out.is_integer = interval.wholes == Wholes::kAll || (interval.wholes == Wholes::kKept && in.is_integer);
  return out;
}

template <class Definition>
void AddDomain(double low, double high, Definition& definition) {
  definition.Set(AllInputs(Sensitivity::kBounded)).Set(ValueDomain{low, high});
}

template <class Definition>
void AddRange(const Row& row, Definition& definition) {
  for (const Interval& interval : kIntervals) {
    if (row.name != std::string_view(interval.name)) continue;
    definition.Set(RangeRule{[&row, &interval](const RangeQuery& q, int) {
      const ValueRange exact = RangeOf(row, interval, q.in[0]);
      const bool may_be_cut_off = row.integer == nullptr && q.in[0].is_integer;  // what float32 makes of integers
      return may_be_cut_off ? RoundedTo(exact, DType::kFloat32) : exact;
    }});
    // A sign survives rounding.
    const bool is_sign = std::string_view(row.name).find("sign") != std::string_view::npos;
    const bool steps = interval.wholes == Wholes::kAll && !is_sign;
    if (steps) definition.Set(AllInputs(Sensitivity::kDiscontinuous));
    if (interval.course == Course::kWave) definition.Set(AllInputs(Sensitivity::kPeriodic));
    if (interval.course == Course::kOverZero || interval.from == 0) definition.Set(AllInputs(Sensitivity::kPole));
    const bool is_bounded = interval.from != 0 && (interval.from > -kInf || interval.to < kInf);
    if (is_bounded) AddDomain(interval.from, interval.to, definition);
  }
}

// What errors of the results depend on.
constexpr std::pair<const char*, Algebra> kAlgebra[] = {{"square", Algebra::kSquare},
                                                        {"negative", Algebra::kMultiple},
                                                        {"degrees", Algebra::kMultiple},
                                                        {"radians", Algebra::kMultiple},
                                                        {"exp", Algebra::kExponential}};

// The functions that maps have; they call the reference for others.
constexpr std::pair<const char*, kernels::MapOp> kMapOps[] = {
    {"sigmoid", kernels::MapOp::kSigmoid},   {"tanh", kernels::MapOp::kTanh},
    {"exp", kernels::MapOp::kExp},           {"log", kernels::MapOp::kLog},
    {"erf", kernels::MapOp::kErf},           {"sqrt", kernels::MapOp::kSqrt},
    {"square", kernels::MapOp::kSquare},     {"abs", kernels::MapOp::kAbs},
    {"floor", kernels::MapOp::kFloor},       {"ceil", kernels::MapOp::kCeil},
    {"trunc", kernels::MapOp::kTrunc},       {"fix", kernels::MapOp::kTrunc},
    {"negative", kernels::MapOp::kNegative}, {"reciprocal", kernels::MapOp::kReciprocal}};

kernels::MapStep MapStepOf(const Row& row) {
  for (const auto& [name, op] : kMapOps) {
    if (row.name == std::string_view(name)) return {.op = op};
  }
  return {.op = kernels::MapOp::kFunction, .function = row.reference};
}

// Derivatives of functions that are not here are zero.
struct DerivativeRow {
  const char* name;
  Term (*derivative)(const Term& x, const Term& y);
};
constexpr DerivativeRow kDerivatives[] = {
    {"relu", ReluDerivative},
    {"sigmoid", [](const Term&, const Term& y) { return y * (1 - y); }},
    {"tanh", [](const Term&, const Term& y) { return 1 - Unary("square", y); }},
    {"exp", [](const Term&, const Term& y) { return y; }},
    {"log", [](const Term& x, const Term&) { return 1 / x; }},
    {"sqrt", [](const Term&, const Term& y) { return 0.5 / y; }},
    {"square", [](const Term& x, const Term&) { return 2 * x; }},
    {"abs", [](const Term& x, const Term&) { return Unary("sign", x); }},
    {"reciprocal", [](const Term&, const Term& y) { return -Unary("square", y); }},
    {"rsqrt", [](const Term& x, const Term& y) { return -0.5 * (y / x); }},
    {"cbrt", [](const Term&, const Term& y) { return 1.0 / 3 / Unary("square", y); }},
    {"rcbrt", [](const Term& x, const Term& y) { return -1.0 / 3 * (y / x); }},
    {"log2", [](const Term& x, const Term&) { return std::numbers::log2e / x; }},
    {"log10", [](const Term& x, const Term&) { return std::numbers::log10e / x; }},
    {"log1p", [](const Term& x, const Term&) { return 1 / (x + 1); }},
    {"expm1", [](const Term& x, const Term&) { return Unary("exp", x); }},
    {"erf",
     [](const Term& x, const Term&) { return 2 * std::numbers::inv_sqrtpi * Unary("exp", -Unary("square", x)); }},
    {"erfinv",
     [](const Term&, const Term& y) { return 0.5 / std::numbers::inv_sqrtpi * Unary("exp", Unary("square", y)); }},
    {"sin", [](const Term& x, const Term&) { return Unary("cos", x); }},
    {"cos", [](const Term& x, const Term&) { return -Unary("sin", x); }},
    {"tan", [](const Term&, const Term& y) { return Unary("square", y) + 1; }},
    {"arcsin", [](const Term& x, const Term&) { return Unary("rsqrt", 1 - Unary("square", x)); }},
    {"arccos", [](const Term& x, const Term&) { return -Unary("rsqrt", 1 - Unary("square", x)); }},
    {"arctan", [](const Term& x, const Term&) { return 1 / (Unary("square", x) + 1); }},
    {"sinh", [](const Term& x, const Term&) { return Unary("cosh", x); }},
    {"cosh", [](const Term& x, const Term&) { return Unary("sinh", x); }},
    {"arcsinh", [](const Term& x, const Term&) { return Unary("rsqrt", Unary("square", x) + 1); }},
    {"arccosh", [](const Term& x, const Term&) { return Unary("rsqrt", Unary("square", x) - 1); }},
    {"arctanh", [](const Term& x, const Term&) { return 1 / (1 - Unary("square", x)); }},
    {"softsign", [](const Term& x, const Term&) { return 1 / Unary("square", Unary("abs", x) + 1); }},
    {"gamma", [](const Term& x, const Term& y) { return y * Unary("digamma", x); }},
    {"gammaln", [](const Term& x, const Term&) { return Unary("digamma", x); }},
    {"digamma", [](const Term& x, const Term&) { return Unary("_trigamma", x); }},
    {"log_sigmoid", [](const Term& x, const Term&) { return Unary("sigmoid", -x); }},
    {"mish", MishDerivative},
};
constexpr const char* kSteps[] = {"floor", "ceil", "trunc", "fix", "round", "rint", "sign"};

// Functions that multiply.
constexpr std::pair<const char*, double> kFactors[] = {
    {"negative", -1}, {"degrees", 1 / kDegree}, {"radians", kDegree}};

void AddGradient(const Row& row, OpDefinition<NoParam>& definition) {
  for (const auto& [name, factor] : kFactors) {
    if (row.name != std::string_view(name)) continue;
    definition.Set(GradientRule{[factor](GradientContext& c) { c.Set(0, c.gradient() * factor); }});
  }
  for (const DerivativeRow& known : kDerivatives) {
    if (row.name == std::string_view(known.name)) definition.Set(DerivativeRule(known.derivative));
  }
  for (const char* name : kSteps) {
    if (row.name == std::string_view(name)) definition.Set(ZeroGradient{"it changes by steps"});
  }
  if (std::string_view(row.name).ends_with("_ste")) definition.Set(PassGradient());
  if (row.name == std::string_view("_trigamma")) definition.Set(NoGradient{"MXNet has none for the second derivative"});
}

void Register(const Row& row) {
  auto op = RegisterOp<NoParam>(row.name);
  AddAliases(op, row.aliases);
  const bool commutes = row.commutes;
  AddRange(row, op);
  AddGradient(row, op);
  if (row.name == std::string_view("tan")) op.Set(AllInputs(Sensitivity::kPeriodic));
  if (row.name == std::string_view("erfinv")) AddDomain(-1, 1, op);
  for (const char* name : {"gamma", "gammaln", "digamma"}) {
    if (row.name == std::string_view(name)) op.Set(AllInputs(Sensitivity::kPole));
  }
  for (const auto& [name, algebra] : kAlgebra) {
    if (row.name == std::string_view(name)) op.Set(AlwaysAlgebra(algebra));
  }
  op.Doc(row.doc)
      .Inputs({"data"})
      .Set(SameShape())
      .Set(DTypeRule{InferDType})
      .Set(AmpFacts{Arithmetic::kElementwise, {}, [commutes](const Node&, DType) { return commutes; }})
      .Set(IsElementwise{})
      .Set(IsUnaryFunction{})
      .Set(ReferenceKernel{
          [&row](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { Reference(row, in[0], out[0]); }})
      .Set(LowerRule{[&row](LowerContext& c) {
        if (!row.kind || !IsFloat(c.out_type(0).dtype)) return false;
        const float beta = *row.kind == EltwiseKind::kRelu ? kReluKeepsNaN : 0;
        c.SetOut(0, c.Emit(EltwiseSpec{*row.kind, 0, beta}, {c.in(0)}, c.out_type(0)));
        return true;
      }})
      .Set(KernelRule{[&row](LowerContext& c) { return LowerToMap(c, {MapStepOf(row)}); }});
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Row& row : kRows) Register(row);
  return true;
}();

}  // namespace
}  // namespace amp::unary
