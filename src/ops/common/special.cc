#include "ops/common/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace amp {

// Newton's method from Winitzki's approximation, which is good to 2e-3 everywhere. Near 0 erf keeps what is left to do,
// far out erfc does.
double ErfInv(double y) {
  if (!(std::fabs(y) < 1)) {
    return std::fabs(y) == 1 ? std::copysign(std::numeric_limits<double>::infinity(), y) : NAN;
  }
  constexpr double kA = 0.147, kSlope = std::numbers::inv_sqrtpi * 2;
  const double size = std::fabs(y), log = std::log1p(-y * y), half = 2 / (std::numbers::pi * kA) + log / 2;
  double x = std::sqrt(std::sqrt(half * half - log / kA) - half);
  for (int i = 0; i < 3; ++i) {
    const double excess = size < 0.5 ? std::erf(x) - size : 1 - size - std::erfc(x);
    x -= excess / (kSlope * std::exp(-x * x));
  }
  return std::copysign(x, y);
}

double LogGamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double LogAddExp(double a, double b) {
  if (a == b) return a + std::numbers::ln2;  // infinities among them
  return std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

double SoftPlus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

}  // namespace amp
