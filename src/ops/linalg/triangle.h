// Triangular matrices: the operators that read them in formulas of gradients, and reference code.
#pragma once

#include <cstdint>

#include "nnvm/attr_text.h"
#include "ops/common/matrices.h"
#include "passes/gradient/gradient_rule.h"

namespace amp {

// Attributes of _linalg_trmm and _linalg_trsm.
struct TriangularParam {
  bool transpose = false, rightside = false, lower = true;
  double alpha = 1;
};

inline Term Triangular(const char* op, const Term& a, const Term& b, const TriangularParam& p) {
  return a.context().Call(op, {a, b},
                          {{"transpose", PrintAttr(p.transpose)},
                           {"rightside", PrintAttr(p.rightside)},
                           {"lower", PrintAttr(p.lower)},
                           {"alpha", PrintAttr(p.alpha)}});
}

// A triangle of each matrix, with zeros beside it.
inline Term TriangleOf(const Term& matrices, bool lower) { return Unary(lower ? "_npi_tril" : "_npi_triu", matrices); }

// Symmetric matrices that have this triangle.
inline Term SymmetricOf(const Term& matrices, bool lower) {
  const Term without_diagonal =
      matrices.context().Call(lower ? "_npi_tril" : "_npi_triu", {matrices}, {{"k", lower ? "-1" : "1"}});
  return TriangleOf(matrices, lower) + TransposedOf(without_diagonal);
}

// One triangular matrix, transposed where the operator says so, beside lines of the other matrix that it meets.
struct Triangle {
  const double* a;
  std::int64_t size;
  bool transpose, lower;

  // Whether the matrix that is meant is lower.
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
