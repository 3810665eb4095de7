// Intervals of real numbers: what is known of the elements of a tensor before any input is seen.
#pragma once

#include <limits>
#include <string>

#include "nnvm/dtype.h"

namespace amp {

// Every element that is a number lies in [low, high]; NaN is always possible. Infinite ends mean that nothing is known
// on that side, infinities included.
struct ValueRange {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  double low = -kInfinity, high = kInfinity;
  bool is_integer = false;  // all finite elements are whole numbers

  static ValueRange Of(double value);
  static ValueRange Between(double low, double high, bool is_integer = false) { return {low, high, is_integer}; }
  // The values of a dtype.
  static ValueRange OfDType(DType dtype);

  bool IsBounded() const { return low > -kInfinity && high < kInfinity; }
  bool Contains(double value) const { return low <= value && value <= high; }
  double Magnitude() const;          // the largest absolute value
  double SmallestMagnitude() const;  // the smallest one; 0 where 0 is possible
  // "whole numbers in [0, 511]", "numbers in [1e-12, inf]"
  std::string ToString() const;

  bool operator==(const ValueRange&) const = default;
};

// Both of them.
ValueRange Hull(const ValueRange& a, const ValueRange& b);
// What is known twice; `a` where they contradict each other.
ValueRange Meet(const ValueRange& a, const ValueRange& b);
// Rounded to `dtype`, which may lead out of the interval by one rounding, wrap or overflow.
ValueRange RoundedTo(const ValueRange& range, DType dtype);

// The results of arithmetic on real numbers, before rounding.
ValueRange Sum(const ValueRange& a, const ValueRange& b);
ValueRange Difference(const ValueRange& a, const ValueRange& b);
ValueRange Product(const ValueRange& a, const ValueRange& b);
ValueRange Quotient(const ValueRange& a, const ValueRange& b);
ValueRange Negative(const ValueRange& a);
ValueRange Absolute(const ValueRange& a);
ValueRange Maximum(const ValueRange& a, const ValueRange& b);
ValueRange Minimum(const ValueRange& a, const ValueRange& b);
// a - b * floor(a / b): of b's sign; 0 where b is 0.
ValueRange Modulus(const ValueRange& a, const ValueRange& b);
// The remainder with a's sign.
ValueRange TruncatedModulus(const ValueRange& a, const ValueRange& b);
ValueRange FloorQuotientOf(const ValueRange& a, const ValueRange& b);
ValueRange PowerOf(const ValueRange& a, const ValueRange& b);
ValueRange HypotenuseOf(const ValueRange& a, const ValueRange& b);
// 0 or 1.
ValueRange TruthValue(const ValueRange& a, const ValueRange& b);
// The sum of `count` terms, each of which lies in `term`, as float arithmetic adds them up in any order.
ValueRange SumOf(const ValueRange& term, double count);

}  // namespace amp
