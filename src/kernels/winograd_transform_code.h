// The transforms of Winograd convolutions, of tiles, weights and products; see winograd_code.h.
#pragma once

#include "kernels/winograd_points.h"

namespace amp::kernels {

// One dimension of the transforms. Lagrange's factors are in the weights: the other transforms are plain sums of
// powers.
template <class Ops, int kTile>
struct WinogradTransform;

template <class Ops>
struct WinogradTransform<Ops, 4> {
  using V = typename Ops::Vector;
  using P = WinogradPoints;

  // Of weights x, y, z, in float64.
  template <class D>
  static void Weights(const D& x, const D& y, const D& z, D (&out)[6]) {
    constexpr double a = P::kA, b = P::kB, a2 = a * a, b2 = b * b;
    constexpr double factor_0 = 1 / (a2 * b2), factor_a = 0.5 / (a2 * (a2 - b2)), factor_b = 0.5 / (b2 * (b2 - a2));
    const D even_a = (x + a2 * z) * factor_a, odd_a = (a * factor_a) * y;
    const D even_b = (x + b2 * z) * factor_b, odd_b = (b * factor_b) * y;
    out[0] = x * factor_0;
    out[1] = even_a + odd_a;
    out[2] = even_a - odd_a;
    out[3] = even_b + odd_b;
    out[4] = even_b - odd_b;
    out[5] = z;
  }

  static void In(const V (&x)[6], V (&y)[6]) {
    const V sum = Ops::All(P::kA2 + P::kB2), product = Ops::All(P::kA2 * P::kB2);
    const V a2 = Ops::All(P::kA2), b2 = Ops::All(P::kB2), a = Ops::All(P::kA), b = Ops::All(P::kB);
    y[0] = Ops::MultiplyAdd(product, x[0], Ops::MultiplySubtract(sum, x[2], x[4]));
    const V even_a = Ops::MultiplySubtract(b2, x[2], x[4]), odd_a = Ops::MultiplySubtract(b2, x[1], x[3]);
    y[1] = Ops::MultiplyAdd(a, odd_a, even_a);
    y[2] = Ops::MultiplySubtract(a, odd_a, even_a);
    const V even_b = Ops::MultiplySubtract(a2, x[2], x[4]), odd_b = Ops::MultiplySubtract(a2, x[1], x[3]);
    y[3] = Ops::MultiplyAdd(b, odd_b, even_b);
    y[4] = Ops::MultiplySubtract(b, odd_b, even_b);
    y[5] = Ops::MultiplyAdd(product, x[1], Ops::MultiplySubtract(sum, x[3], x[5]));
  }

  static void Out(const V (&x)[6], V (&y)[4]) {
    const V sum_a = x[1] + x[2], difference_a = x[1] - x[2], sum_b = x[3] + x[4], difference_b = x[3] - x[4];
    y[0] = x[0] + sum_a + sum_b;
    y[1] = Ops::MultiplyAdd(Ops::All(P::kA), difference_a, Ops::All(P::kB) * difference_b);
    y[2] = Ops::MultiplyAdd(Ops::All(P::kA2), sum_a, Ops::All(P::kB2) * sum_b);
    const V cubes = Ops::MultiplyAdd(Ops::All(P::kB2 * P::kB), difference_b, x[5]);
    y[3] = Ops::MultiplyAdd(Ops::All(P::kA2 * P::kA), difference_a, cubes);
  }
};

// None: one row as it is.
template <class Ops>
struct WinogradTransform<Ops, 1> {
  template <class D>
  static void Weights(const D& x, const D& y, const D& z, D (&out)[3]) {
    out[0] = x;
    out[1] = y;
    out[2] = z;
  }
};

template <class Ops>
struct WinogradTransform<Ops, 2> {
  using V = typename Ops::Vector;

  template <class D>
  static void Weights(const D& x, const D& y, const D& z, D (&out)[4]) {
    out[0] = x;
    out[1] = (x + y + z) * 0.5;
    out[2] = (x - y + z) * 0.5;
    out[3] = z;
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
