// The transforms of Winograd convolutions, of tiles, weights and products; see winograd_code.h.
#pragma once

#include "kernels/winograd/winograd_points.h"

namespace amp::kernels {

// One axis of a tile: so many results, of windows of so many numbers.
template <int kResults, int kNumbers>
struct WinogradAxis {
  static constexpr int kTile = kResults, kWindow = kNumbers, kIn = kTile + kWindow - 1;
};

// The product of (x^2 - p^2), p of all pairs of points but one (kNone: of all), as the coefficients of powers of x^2.
template <class Ops, int kPairs>  // for internal linkage
struct WinogradPolynomial {
  static constexpr int kNone = kPairs;
  double factors[kPairs + 1] = {1};

  constexpr explicit WinogradPolynomial(int but) {
    for (int pair = 0, degree = 0; pair < kPairs; ++pair) {
      if (pair == but) continue;
      ++degree;
      for (int i = degree; i > 0; --i) factors[i] = factors[i - 1] - Square(pair) * factors[i];
      factors[0] *= -Square(pair);
    }
  }
  static constexpr double Square(int pair) {
    const double point = WinogradPoints<kPairs>::kValues[pair];
    return point * point;
  }
  constexpr double At(double square) const {
    double value = 0;
    for (int i = kPairs; i >= 0; --i) value = value * square + factors[i];
    return value;
  }
};

// Lagrange's factors are in the weights: the other transforms are plain sums of powers. Recursions instead of loops
// keep vectors in registers.
template <class Ops, class Axis>
struct WinogradTransform {
  using V = typename Ops::Vector;
  static constexpr int kIn = Axis::kIn, kTile = Axis::kTile, kWindow = Axis::kWindow, kPairs = kIn / 2 - 1;
  static_assert(kIn % 2 == 0 && kTile > 1);
  using Polynomial = WinogradPolynomial<Ops, kPairs>;

  static constexpr float PowerOf(int pair, int power) {
    float value = 1;
    for (int i = 0; i < power; ++i) value *= WinogradPoints<kPairs>::kValues[pair];
    return value;
  }

  // In float64.
  template <class D>
  static void Weights(const D (&window)[kWindow], D (&out)[kIn]) {
    out[0] = window[0] / Polynomial(Polynomial::kNone).factors[0];
    for (int pair = 0; pair < kPairs; ++pair) {
      const double point = WinogradPoints<kPairs>::kValues[pair], square = point * point;
      const double factor = 0.5 / (square * Polynomial(pair).At(square));
      D even = window[0], odd = window[1] * point;
      double power = square;
      for (int i = 2; i < kWindow; ++i, power *= point) (i % 2 == 0 ? even : odd) += power * window[i];
      out[1 + 2 * pair] = (even + odd) * factor;
      out[2 + 2 * pair] = (even - odd) * factor;
    }
    out[kIn - 1] = window[kWindow - 1];
  }

  // The sum of x[kFirst], x[kFirst + 2], ... times the polynomial's factors, of which the last is 1.
  template <int kBut, int kFirst, int kPower = 0>
  [[gnu::always_inline]] static V Sum(const V (&x)[kIn]) {
    constexpr int kDegree = kBut == kPairs ? kPairs : kPairs - 1;
    if constexpr (kPower == kDegree) {
      return x[kFirst + 2 * kPower];
    } else {
      constexpr auto kFactor = static_cast<float>(Polynomial(kBut).factors[kPower]);
      return Ops::MultiplyAdd(Ops::All(kFactor), x[kFirst + 2 * kPower], Sum<kBut, kFirst, kPower + 1>(x));
    }
  }

  template <int kPair>
  [[gnu::always_inline]] static void InOfPairs(const V (&x)[kIn], V (&y)[kIn]) {
    const V point = Ops::All(PowerOf(kPair, 1)), even = Sum<kPair, 2>(x), odd = Sum<kPair, 1>(x);
    y[1 + 2 * kPair] = Ops::MultiplyAdd(point, odd, even);
    y[2 + 2 * kPair] = Ops::MultiplySubtract(point, odd, even);
    if constexpr (kPair + 1 < kPairs) InOfPairs<kPair + 1>(x, y);
  }

  [[gnu::always_inline]] static void In(const V (&x)[kIn], V (&y)[kIn]) {
    y[0] = Sum<kPairs, 0>(x);
    InOfPairs<0>(x, y);
    y[kIn - 1] = Sum<kPairs, 1>(x);
  }

  // The products of a pair of points, added and subtracted.
  struct Pairs {
    V sums[kPairs], differences[kPairs];
  };
  template <int kPair>
  [[gnu::always_inline]] static void AddPairs(const V (&x)[kIn], Pairs* pairs) {
    pairs->sums[kPair] = x[1 + 2 * kPair] + x[2 + 2 * kPair];
    pairs->differences[kPair] = x[1 + 2 * kPair] - x[2 + 2 * kPair];
    if constexpr (kPair + 1 < kPairs) AddPairs<kPair + 1>(x, pairs);
  }

  template <int kPair>
  [[gnu::always_inline]] static V First(const V& x, const Pairs& pairs) {
    const V sum = x + pairs.sums[kPair];
    if constexpr (kPair + 1 < kPairs) return First<kPair + 1>(sum, pairs);
    return sum;
  }

  template <int kResult, int kPair>
  [[gnu::always_inline]] static V Result(const V& last, const Pairs& pairs) {
    const V power = Ops::All(PowerOf(kPair, kResult));
    const V& number = kResult % 2 == 0 ? pairs.sums[kPair] : pairs.differences[kPair];
    if constexpr (kPair + 1 < kPairs) {
      return Ops::MultiplyAdd(power, number, Result<kResult, kPair + 1>(last, pairs));
    } else if constexpr (kResult + 1 == kTile) {
      return Ops::MultiplyAdd(power, number, last);
    } else {
      return power * number;
    }
  }

  template <int kResult>
  [[gnu::always_inline]] static void OutFrom(const V& last, const Pairs& pairs, V (&y)[kTile]) {
    y[kResult] = Result<kResult, 0>(last, pairs);
    if constexpr (kResult + 1 < kTile) OutFrom<kResult + 1>(last, pairs, y);
  }

  [[gnu::always_inline]] static void Out(const V (&x)[kIn], V (&y)[kTile]) {
    Pairs pairs;
    AddPairs<0>(x, &pairs);
    y[0] = First<0>(x[0], pairs);
    OutFrom<1>(x[kIn - 1], pairs, y);
  }
};

// None: one result, of rows that are multiplied one by one.
template <class Ops, int kNumbers>
struct WinogradTransform<Ops, WinogradAxis<1, kNumbers>> {
  using V = typename Ops::Vector;
  static constexpr int kIn = kNumbers;

  template <class D>
  static void Weights(const D (&window)[kIn], D (&out)[kIn]) {
    for (int i = 0; i < kIn; ++i) out[i] = window[i];
  }
  static void In(const V (&x)[1], V (&y)[1]) { y[0] = x[0]; }
  static void Out(const V (&x)[1], V (&y)[1]) { y[0] = x[0]; }
};

// The transform with the points 0, +-1 and infinity, which need no multiplications.
template <class Ops>
struct WinogradTransform<Ops, WinogradAxis<2, 3>> {
  using V = typename Ops::Vector;

  template <class D>
  static void Weights(const D (&window)[3], D (&out)[4]) {
    out[0] = window[0];
    out[1] = (window[0] + window[1] + window[2]) * 0.5;
    out[2] = (window[0] - window[1] + window[2]) * 0.5;
    out[3] = window[2];
  }

  static void In(const V (&x)[4], V (&y)[4]) {
    y[0] = x[0] - x[2];
    y[1] = x[2] + x[1];
    y[2] = x[2] - x[1];
    y[3] = x[3] - x[1];
  }

  static void Out(const V (&x)[4], V (&y)[2]) {
    y[0] = x[0] + x[1] + x[2];
    y[1] = x[1] - x[2] + x[3];
  }
};

}  // namespace amp::kernels
