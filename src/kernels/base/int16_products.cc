#include "kernels/base/int16_products.h"

#include <algorithm>
#include <cmath>

namespace amp::kernels {

void FindInt16Factors(const double* squares, std::int64_t count, float* factors) {
  const double largest = count == 0 ? 0 : *std::max_element(squares, squares + count);
  for (std::int64_t c = 0; c < count; ++c) {
    const double exponent = std::floor(std::log2(std::sqrt(squares[c] / largest)));
    factors[c] = std::isfinite(exponent) ? std::ldexp(1.0f, static_cast<int>(std::clamp(exponent, -60.0, 0.0))) : 1;
  }
}

}  // namespace amp::kernels
