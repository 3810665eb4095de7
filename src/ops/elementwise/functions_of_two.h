// Functions of two numbers: their values, and what is known of them. Operators of two arrays and of an array and a
// scalar are made of the same ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "kernels/elementwise/map.h"
#include "nnvm/ndarray.h"
#include "ops/common/remainder.h"
#include "ops/common/special.h"
#include "passes/range_rule.h"

namespace amp {

struct FunctionOfTwo {
  // The function of floats, computed in double and rounded once; null: the function is for integers only. Sums,
  // differences, products and quotients of two floats are those of float arithmetic then.
  double (*real)(double a, double b);
  std::int64_t (*integer)(std::int64_t a, std::int64_t b);  // wraps modulo 2^64; x / 0 is 0
  kernels::MapOp map_op = kernels::MapOp::kFunction2;
  RangeFunction range = nullptr;  // null: nothing is known
  // The sensitivity to each operand.
  Sensitivity sensitivity_to_first = Sensitivity::kSmooth, sensitivity_to_second = Sensitivity::kSmooth;

  bool is_logical() const {
    return map_op == kernels::MapOp::kAnd || map_op == kernels::MapOp::kOr || map_op == kernels::MapOp::kXor;
  }
};

InputSensitivity SensitivityOf(const FunctionOfTwo& function);

// The reference: the function of elements of in[0] and in[1], whose sizes of 1 are broadcast, computed in this dtype.
void ComputeBroadcast(const FunctionOfTwo& function, DType dtype, std::span<const NDArray> in, NDArray& out);

namespace functions {

using Unsigned = std::uint64_t;
inline std::int64_t Wrapped(Unsigned value) { return static_cast<std::int64_t>(value); }

// A function of integers by way of double, cut off; 0 for what does not fit, and for NaN.
template <double (*F)(double, double)>
std::int64_t CutOff(std::int64_t a, std::int64_t b) {
  const double value = F(static_cast<double>(a), static_cast<double>(b));
  return std::abs(value) < 9.2e18 ? static_cast<std::int64_t>(value) : 0;
}

template <class F, class T>
T Truth(T a, T b) {
  return F()(a, b) ? T{1} : T{0};
}
struct And {
  bool operator()(auto a, auto b) const { return a != 0 && b != 0; }
};
struct Or {
  bool operator()(auto a, auto b) const { return a != 0 || b != 0; }
};
struct Xor {
  bool operator()(auto a, auto b) const { return (a != 0) != (b != 0); }
};

inline double Larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }
inline double Smaller(double a, double b) { return a < b || std::isnan(a) ? a : b; }
inline double Power(double a, double b) { return std::pow(a, b); }
inline double TimesLog(double a, double b) { return a * std::log(b); }
inline double Hypot(double a, double b) { return std::hypot(a, b); }
inline double ArcTan2(double a, double b) { return std::atan2(a, b); }
inline double LoadExponent(double a, double b) { return a * std::exp2(b); }
inline double CopySign(double a, double b) { return std::copysign(a, b); }

inline std::int64_t IntegerQuotient(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? Wrapped(0 - static_cast<Unsigned>(a)) : a / b;  // INT64_MIN / -1 would overflow
}
inline std::int64_t Largest(std::int64_t a, std::int64_t b) { return std::max(a, b); }
inline std::int64_t Smallest(std::int64_t a, std::int64_t b) { return std::min(a, b); }
inline std::int64_t GreatestDivisor(std::int64_t a, std::int64_t b) {
  while (b != 0) a = std::exchange(b, b == -1 ? 0 : a % b);  // a % -1 may overflow
  return a < 0 ? Wrapped(0 - static_cast<Unsigned>(a)) : a;
}
inline std::int64_t LeastMultiple(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  const Unsigned product = static_cast<Unsigned>(a / GreatestDivisor(a, b)) * static_cast<Unsigned>(b);
  return Wrapped(product) < 0 ? Wrapped(0 - product) : Wrapped(product);
}

inline constexpr auto kDiscontinuous = Sensitivity::kDiscontinuous;

inline constexpr FunctionOfTwo kPlus = {
    [](double a, double b) { return a + b; },
    [](std::int64_t a, std::int64_t b) { return Wrapped(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)); },
    kernels::MapOp::kAdd, Sum};
inline constexpr FunctionOfTwo kMinus = {
    [](double a, double b) { return a - b; },
    [](std::int64_t a, std::int64_t b) { return Wrapped(static_cast<Unsigned>(a) - static_cast<Unsigned>(b)); },
    kernels::MapOp::kSub, Difference};
inline constexpr FunctionOfTwo kTimes = {
    [](double a, double b) { return a * b; },
    [](std::int64_t a, std::int64_t b) { return Wrapped(static_cast<Unsigned>(a) * static_cast<Unsigned>(b)); },
    kernels::MapOp::kMul, Product};
inline constexpr FunctionOfTwo kOver = {[](double a, double b) { return a / b; },
                                        IntegerQuotient,
                                        kernels::MapOp::kDiv,
                                        Quotient,
                                        Sensitivity::kSmooth,
                                        Sensitivity::kPole};
// A NaN in the first operand stays.
inline constexpr FunctionOfTwo kLarger = {Larger, Largest, kernels::MapOp::kMax, Maximum};
inline constexpr FunctionOfTwo kSmaller = {Smaller, Smallest, kernels::MapOp::kMin, Minimum};

inline constexpr auto kByFunction = kernels::MapOp::kFunction2;
// The range is that of both: the result is whichever is a number.
inline constexpr FunctionOfTwo kFMax = {[](double a, double b) { return std::fmax(a, b); }, Largest, kByFunction, Hull};
inline constexpr FunctionOfTwo kFMin = {[](double a, double b) { return std::fmin(a, b); }, Smallest, kByFunction,
                                        Hull};
inline constexpr FunctionOfTwo kRemainder = {Remainder, Remainder,      kByFunction,
                                             Modulus,   kDiscontinuous, kDiscontinuous};
inline constexpr FunctionOfTwo kTruncatedRemainder = {TruncatedRemainder, TruncatedRemainder, kByFunction,
                                                      TruncatedModulus,   kDiscontinuous,     kDiscontinuous};
inline constexpr FunctionOfTwo kFloorQuotient = {FloorQuotient,   FloorQuotient,  kByFunction,
                                                 FloorQuotientOf, kDiscontinuous, kDiscontinuous};
inline constexpr FunctionOfTwo kPower = {Power, CutOff<Power>, kByFunction, PowerOf, Sensitivity::kPole};
inline constexpr FunctionOfTwo kTimesLog = {TimesLog, CutOff<TimesLog>};
inline constexpr FunctionOfTwo kHypot = {Hypot, CutOff<Hypot>, kByFunction, HypotenuseOf};
inline constexpr FunctionOfTwo kArcTan2 = {ArcTan2, CutOff<ArcTan2>};
inline constexpr FunctionOfTwo kLoadExponent = {LoadExponent, CutOff<LoadExponent>};
inline constexpr FunctionOfTwo kCopySign = {CopySign, CutOff<CopySign>};
inline constexpr FunctionOfTwo kLogAddExp = {LogAddExp, CutOff<LogAddExp>};

// 1 or 0.
template <class F>
constexpr FunctionOfTwo TruthOf(kernels::MapOp op, Sensitivity sensitivity = Sensitivity::kSmooth) {
  return {Truth<F, double>, Truth<F, std::int64_t>, op, TruthValue, sensitivity, sensitivity};
}
inline constexpr FunctionOfTwo kEqual = TruthOf<std::equal_to<>>(kernels::MapOp::kEqual, kDiscontinuous);
inline constexpr FunctionOfTwo kNotEqual = TruthOf<std::not_equal_to<>>(kernels::MapOp::kNotEqual, kDiscontinuous);
inline constexpr FunctionOfTwo kGreater = TruthOf<std::greater<>>(kernels::MapOp::kGreater);
inline constexpr FunctionOfTwo kGreaterEqual = TruthOf<std::greater_equal<>>(kernels::MapOp::kGreaterEqual);
inline constexpr FunctionOfTwo kLesser = TruthOf<std::less<>>(kernels::MapOp::kLess);
inline constexpr FunctionOfTwo kLesserEqual = TruthOf<std::less_equal<>>(kernels::MapOp::kLessEqual);
inline constexpr FunctionOfTwo kAnd = TruthOf<And>(kernels::MapOp::kAnd);
inline constexpr FunctionOfTwo kOr = TruthOf<Or>(kernels::MapOp::kOr);
inline constexpr FunctionOfTwo kXor = TruthOf<Xor>(kernels::MapOp::kXor);

// Functions of integers.
inline constexpr FunctionOfTwo kGreatestDivisor = {nullptr, GreatestDivisor};
inline constexpr FunctionOfTwo kLeastMultiple = {nullptr, LeastMultiple};
inline constexpr FunctionOfTwo kBitAnd = {nullptr, [](std::int64_t a, std::int64_t b) { return a & b; }};
inline constexpr FunctionOfTwo kBitOr = {nullptr, [](std::int64_t a, std::int64_t b) { return a | b; }};
inline constexpr FunctionOfTwo kBitXor = {nullptr, [](std::int64_t a, std::int64_t b) { return a ^ b; }};
inline constexpr FunctionOfTwo kLeftShift = {nullptr, LeftShift};
inline constexpr FunctionOfTwo kRightShift = {nullptr, RightShift};

}  // namespace functions
}  // namespace amp
