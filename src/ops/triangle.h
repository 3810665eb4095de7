// Triangular matrices in reference kernels.
#pragma once

#include <cstdint>

namespace amp {

// One triangular matrix, transposed where the operator says so, beside lines of the other matrix that it meets.
struct Triangle {
  const double* a;
  std::int64_t size;
  bool transpose, lower;

  // Of the matrix that is meant.
  bool is_lower() const { return lower != transpose; }
  double At(std::int64_t row, std::int64_t column) const {
    return transpose ? a[column * size + row] : a[row * size + column];
  }

  // y = A x in place, where elements of x lie `step` apart.
  void Multiply(double* x, std::int64_t step) const {
    for (std::int64_t k = 0; k < size; ++k) {
      const std::int64_t row = is_lower() ? size - 1 - k : k;
      double sum = 0;
      const std::int64_t begin = is_lower() ? 0 : row, end = is_lower() ? row + 1 : size;
      for (std::int64_t i = begin; i < end; ++i) sum += At(row, i) * x[i * step];
      x[row * step] = sum;
    }
  }
  // The x of A x = y in place.
  void Solve(double* y, std::int64_t step) const {
    for (std::int64_t k = 0; k < size; ++k) {
      const std::int64_t row = is_lower() ? k : size - 1 - k;
      const std::int64_t begin = is_lower() ? 0 : row + 1, end = is_lower() ? row : size;
      for (std::int64_t i = begin; i < end; ++i) y[row * step] -= At(row, i) * y[i * step];
      y[row * step] /= At(row, row);
    }
  }
};

}  // namespace amp
