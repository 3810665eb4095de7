// For operators on matrices along the last two axes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "nnvm/attr_text.h"
#include "nnvm/node.h"
#include "nnvm/shape.h"
#include "passes/gradient/gradient_rule.h"

namespace amp {

inline std::int64_t RowsOf(const Shape& shape) { return shape[shape.rank() - 2]; }
inline std::int64_t ColumnsOf(const Shape& shape) { return shape[shape.rank() - 1]; }
inline std::int64_t CountOf(const Shape& matrices) { return matrices.SizeOf(0, matrices.rank() - 2); }

inline void RequireSquare(const Node& node, const Shape& shape) {
  if (shape.rank() < 2 || RowsOf(shape) != ColumnsOf(shape)) {
    FailAt(node, "expected square matrices, got {}", shape.ToString());
  }
}

// The leading axes, and others behind them.
inline Shape Stacked(const Shape& leading, int count, std::initializer_list<std::int64_t> sizes) {
  std::vector<std::int64_t> dims(leading.dims().begin(), leading.dims().begin() + count);
  dims.insert(dims.end(), sizes);
  return Shape(dims);
}

inline Term TransposedOf(const Term& matrices) {
  return matrices.context().Call("SwapAxis", {matrices}, {{"dim1", "-1"}, {"dim2", "-2"}});
}

inline Term Product(const Term& a, const Term& b, bool transpose_a = false, bool transpose_b = false,
                    double alpha = 1) {
  return a.context().Call(
      "_linalg_gemm2", {a, b},
      {{"transpose_a", PrintAttr(transpose_a)}, {"transpose_b", PrintAttr(transpose_b)}, {"alpha", PrintAttr(alpha)}});
}

}  // namespace amp
