// Rules for ranges (passes/range_rule.h) that many operator definitions share.
#pragma once

#include <algorithm>
#include <cmath>

#include "passes/range_rule.h"

namespace amp {

// The data's elements, and a constant between them.
template <class F>
RangeRule DataAndConstant(F value) {
  return {[value](const RangeQuery& q, int) { return Hull(q.in[0], ValueRange::Of(value(q.node))); }};
}
inline RangeRule DataAndZero() {
  return DataAndConstant([](const Node&) { return 0.0; });
}

// start, start + step, ..., start + steps * step.
inline ValueRange Steps(double start, double step, double steps) {
  const ValueRange first = ValueRange::Of(start);
  return Hull(first, Sum(first, Product(ValueRange::Of(step), ValueRange::Between(0, steps, true))));
}

// The bounds of long sums are those of the worst case, which says little; small ones are kept, because angles may be
// small enough, and counts.
inline ValueRange Informative(const ValueRange& sum) {
  constexpr double kMaxBound = 256;
  if (sum.is_integer && sum.Magnitude() <= 0x1p24) return sum;
  return {sum.low >= -kMaxBound ? sum.low : -ValueRange::kInfinity,
          sum.high <= kMaxBound ? sum.high : ValueRange::kInfinity, sum.is_integer};
}

// Sums of `count` products of input 0 with input 1, plus input 2 where there is one. 0: an unknown number.
inline ValueRange SumOfProducts(const RangeQuery& q, double count) {
  const bool is_integer = std::all_of(q.in.begin(), q.in.end(), [](const ValueRange& in) { return in.is_integer; });
  if (!(count > 0)) return ValueRange::Between(-ValueRange::kInfinity, ValueRange::kInfinity, is_integer);
  ValueRange sum = SumOf(Hull(Product(q.in[0], q.in[1]), ValueRange::Of(0)), count);  // 0: padding
  if (q.in.size() > 2) sum = Sum(sum, q.in[2]);
  return Informative(sum);
}

// The range of products of matrices: m k and k n elements give m n.
inline RangeRule MatrixProductRange() {
  return {[](const RangeQuery& q, int) {
    return SumOfProducts(q, q.OutSize() > 0 ? std::ceil(std::sqrt(q.InSize(0) * q.InSize(1) / q.OutSize())) : 0);
  }};
}

// An increasing function of one number, evaluated at the ends. NaN where it has no value.
template <class F>
ValueRange Increasing(F function, const ValueRange& in) {
  const auto at = [&](double x) {
    const double value = function(x);
    const bool has_limit = std::isnan(value) && std::isinf(x);
    return has_limit ? function(std::copysign(std::numeric_limits<double>::max(), x)) : value;
  };
  const double low = at(in.low), high = at(in.high);
  return {std::isnan(low) ? -ValueRange::kInfinity : low, std::isnan(high) ? ValueRange::kInfinity : high};
}

}  // namespace amp
