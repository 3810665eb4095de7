// The code of small products. `Vectors` is of one instruction set, and so is what is made of it here.
#pragma once

#include <cstdint>

#include "kernels/gemm/strided_product.h"

namespace amp::kernels {
namespace {

template <class Vectors>
struct StridedProductCode {
  using Vector = typename Vectors::Vector;
  static constexpr std::int64_t kLanes = Vectors::kLanes;
  static constexpr std::int64_t kRows = Vectors::kRows < 6 ? Vectors::kRows : 6;

  // kTileRows rows of kVectors vectors; the last vector has `rest` columns.
  template <int kTileRows, int kVectors>
  static void Tile(const StridedProduct& job, const float* a, const float* b, float* c, std::int64_t rest) {
    const auto count = [&](int v) { return v + 1 < kVectors ? kLanes : rest; };
    Vector sums[kTileRows][kVectors];
    for (int r = 0; r < kTileRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] =
            job.adds ? Vectors::template Load<false>(c + r * job.c_row + v * kLanes, count(v)) : Vectors::All(0);
      }
    }
    for (std::int64_t k = 0; k < job.length; ++k) {
      Vector columns[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        columns[v] = Vectors::template Load<false>(b + k * job.b_row + v * kLanes, count(v));
      }
      for (int r = 0; r < kTileRows; ++r) {
        const Vector factor = Vectors::All(a[r * job.a_row + k * job.a_column]);
        for (int v = 0; v < kVectors; ++v) sums[r][v] = Vectors::MultiplyAdd(factor, columns[v], sums[r][v]);
      }
    }
    for (int r = 0; r < kTileRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        Vectors::template Store<false>(c + r * job.c_row + v * kLanes, count(v), sums[r][v]);
      }
    }
  }

  template <int kVectors>
  static void Rows(const StridedProduct& job, const float* a, const float* b, float* c, std::int64_t rest) {
    std::int64_t row = 0;
    for (; row + kRows <= job.rows; row += kRows) {
      Tile<kRows, kVectors>(job, a + row * job.a_row, b, c + row * job.c_row, rest);
    }
    for (; row < job.rows; ++row) Tile<1, kVectors>(job, a + row * job.a_row, b, c + row * job.c_row, rest);
  }

  static void Run(const StridedProduct& job, const float* a, const float* b, float* c) {
    std::int64_t column = 0;
    for (; column + 2 * kLanes <= job.columns; column += 2 * kLanes) Rows<2>(job, a, b + column, c + column, kLanes);
    for (; column < job.columns; column += kLanes) {
      const std::int64_t left = job.columns - column;
      Rows<1>(job, a, b + column, c + column, left < kLanes ? left : kLanes);
    }
  }
};

}  // namespace
}  // namespace amp::kernels
