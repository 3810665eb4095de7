#include "passes/value_range.h"

#include <algorithm>
#include <cmath>

#include "nnvm/error.h"

namespace amp {
namespace {

constexpr double kInfinity = ValueRange::kInfinity;

// What rounding to a dtype may change.
struct Rounding {
  double unit;      // largest relative error
  double smallest;  // largest absolute error around 0
  double largest;   // beyond: infinite
  double whole;     // all whole numbers up to here exist
};

Rounding RoundingOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {0x1p-11, 0x1p-24, 65504, 0x1p11};
    case DType::kBFloat16:
      return {0x1p-8, 0x1p-126, 0x1.FEp127, 0x1p8};
    case DType::kFloat64:
      return {0x1p-52, 0x1p-1022, std::numeric_limits<double>::max(), 0x1p53};
    default:
      return {0x1p-22, 0x1p-126, 0x1.FFFFFEp127, 0x1p24};
  }
}

// No number for the end of an interval: nothing is known.
double Lower(double low) { return std::isnan(low) ? -kInfinity : low; }
double Upper(double high) { return std::isnan(high) ? kInfinity : high; }

// The extremes of four candidates.
ValueRange Extremes(double a, double b, double c, double d) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(c) || std::isnan(d)) return {};
  return {std::min({a, b, c, d}), std::max({a, b, c, d})};
}

// 0 times an infinite end is 0: that end stands for finite numbers, however large. An infinity itself gives NaN.
double Times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

bool BothIntegers(const ValueRange& a, const ValueRange& b) { return a.is_integer && b.is_integer; }

}  // namespace

ValueRange ValueRange::Of(double value) {
  if (std::isnan(value)) return {};
  return {value, value, value == std::floor(value)};
}

ValueRange ValueRange::OfDType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {0, 1, true};
    case DType::kInt8:
      return {-0x1p7, 0x1p7 - 1, true};
    case DType::kUInt8:
      return {0, 0x1p8 - 1, true};
    case DType::kInt16:
      return {-0x1p15, 0x1p15 - 1, true};
    case DType::kUInt16:
      return {0, 0x1p16 - 1, true};
    case DType::kInt32:
      return {-0x1p31, 0x1p31 - 1, true};
    case DType::kUInt32:
      return {0, 0x1p32 - 1, true};
    case DType::kInt64:
      return {-0x1p63, 0x1p63, true};
    case DType::kUInt64:
      return {0, 0x1p64, true};
    default:
      return {};
  }
}

double ValueRange::Magnitude() const { return std::max(std::fabs(low), std::fabs(high)); }
double ValueRange::SmallestMagnitude() const { return low > 0 ? low : high < 0 ? -high : 0; }

std::string ValueRange::ToString() const {
  if (low == -kInfinity && high == kInfinity) return is_integer ? "any whole number" : "any number";
  return fmt::format("{} in [{:.6g}, {:.6g}]", is_integer ? "whole numbers" : "numbers", low, high);
}

ValueRange Hull(const ValueRange& a, const ValueRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), BothIntegers(a, b)};
}

ValueRange Meet(const ValueRange& a, const ValueRange& b) {
  const ValueRange both{std::max(a.low, b.low), std::min(a.high, b.high), a.is_integer || b.is_integer};
  return both.low <= both.high ? both : a;
}

ValueRange RoundedTo(const ValueRange& range, DType dtype) {
  if (!IsFloat(dtype)) {
    const ValueRange all = ValueRange::OfDType(dtype);
    // 64-bit integers are no doubles.
    const bool fits = range.low >= all.low && range.high <= all.high && range.Magnitude() <= 0x1p53;
    return fits ? ValueRange{std::floor(range.low), std::ceil(range.high), true} : all;
  }
  const Rounding rounding = RoundingOf(dtype);
  ValueRange rounded = range;
  const bool is_exact = range.is_integer && range.Magnitude() <= rounding.whole;
  if (!is_exact) {
    rounded.low = Lower(range.low - std::fabs(range.low) * rounding.unit - rounding.smallest);
    rounded.high = Upper(range.high + std::fabs(range.high) * rounding.unit + rounding.smallest);
    // 0 stays 0, and signs stay what they are.
    if (range.low >= 0) rounded.low = std::max(rounded.low, 0.0);
    if (range.high <= 0) rounded.high = std::min(rounded.high, 0.0);
  }
  if (rounded.high > rounding.largest) rounded.high = kInfinity;
  if (rounded.low < -rounding.largest) rounded.low = -kInfinity;
  return rounded;
}

ValueRange Sum(const ValueRange& a, const ValueRange& b) {
  return {Lower(a.low + b.low), Upper(a.high + b.high), BothIntegers(a, b)};
}
ValueRange Negative(const ValueRange& a) { return {-a.high, -a.low, a.is_integer}; }
ValueRange Difference(const ValueRange& a, const ValueRange& b) { return Sum(a, Negative(b)); }

ValueRange Product(const ValueRange& a, const ValueRange& b) {
  ValueRange range = Extremes(Times(a.low, b.low), Times(a.low, b.high), Times(a.high, b.low), Times(a.high, b.high));
  range.is_integer = BothIntegers(a, b);
  return range;
}

ValueRange Quotient(const ValueRange& a, const ValueRange& b) {
  // Division by 0 gives infinities, by an interval that ends in 0 those of one sign; -0 may give the other.
  if (b.Contains(0) || !b.IsBounded()) {
    if (!(b.SmallestMagnitude() > 0)) return {};
    const double most = a.Magnitude() / b.SmallestMagnitude();
    const bool may_be_negative = a.low < 0 ? true : b.high < 0;
    return {may_be_negative ? -most : 0.0, a.high > 0 || b.high < 0 ? most : 0.0};
  }
  return Extremes(a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high);
}

ValueRange Absolute(const ValueRange& a) { return {a.SmallestMagnitude(), a.Magnitude(), a.is_integer}; }
ValueRange Maximum(const ValueRange& a, const ValueRange& b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high), BothIntegers(a, b)};
}
ValueRange Minimum(const ValueRange& a, const ValueRange& b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high), BothIntegers(a, b)};
}

ValueRange Modulus(const ValueRange& a, const ValueRange& b) {
  return {std::min(0.0, b.low), std::max(0.0, b.high), BothIntegers(a, b)};
}
ValueRange TruncatedModulus(const ValueRange& a, const ValueRange& b) {
  const double most = std::min(a.Magnitude(), b.Magnitude());
  return {a.low < 0 ? -most : 0.0, a.high > 0 ? most : 0.0, BothIntegers(a, b)};
}
ValueRange FloorQuotientOf(const ValueRange& a, const ValueRange& b) {
  const ValueRange quotient = Quotient(a, b);
  return {std::floor(quotient.low), std::floor(quotient.high), true};
}

ValueRange PowerOf(const ValueRange& a, const ValueRange& b) {
  if (b.low == 2 && b.high == 2) {
    const ValueRange size = Absolute(a);
    return {size.low * size.low, size.high * size.high, a.is_integer};
  }
  if (!(a.low > 0) || !a.IsBounded() || !b.IsBounded()) {
    const bool is_positive = a.low > 0 || (a.low == 0 && b.low >= 0);  // -0 to the power of -1 is negative
    return is_positive ? ValueRange{0, kInfinity} : ValueRange{};
  }
  return Extremes(std::pow(a.low, b.low), std::pow(a.low, b.high), std::pow(a.high, b.low), std::pow(a.high, b.high));
}

ValueRange HypotenuseOf(const ValueRange& a, const ValueRange& b) {
  return {std::hypot(a.SmallestMagnitude(), b.SmallestMagnitude()), std::hypot(a.Magnitude(), b.Magnitude())};
}

ValueRange TruthValue(const ValueRange&, const ValueRange&) { return {0, 1, true}; }

ValueRange SumOf(const ValueRange& term, double count) {
  ValueRange sum{Times(term.low, count), Times(term.high, count), term.is_integer};
  // Whole numbers below 2^24 add up without rounding.
  if (term.is_integer && term.Magnitude() * count <= 0x1p24) return sum;
  const double slack = Times(Times(term.Magnitude(), count), 0x1p-23 * (count + 1));
  return {Lower(sum.low - slack), Upper(sum.high + slack), sum.is_integer};
}

}  // namespace amp
