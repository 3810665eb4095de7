// What products by Strassen's algorithm do with their sums; see strassen_code.h.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm_epilogue_code.h"

namespace amp::kernels {

// Makes results of sums of quarters, each of [row][two vectors]. `Rows`: see StrassenCode.
template <class Ops, class Rows>
struct StrassenEpilogue {
  using Results = GemmEpilogue<Ops>;
  using Place = typename Results::Place;
  using V = typename Ops::Vector;
  using Int = std::int64_t;
  static constexpr int kLanes = Ops::kLanes, kMaxRows = Ops::kRows;
  static constexpr Int kPiece = 2 * kLanes;

  // Some rows of a quarter: sums of this stretch and those of stretches before, where there are some, and of what these
  // are multiplied by.
  struct Sums {
    const float* quarter;
    float* before;  // null: none, and none to come
    bool is_first;
    const float *row_scales, *column_scales;  // of this stretch, where numbers have scales
  };

  // What sums are multiplied by; `columns`: what undoes that they have been made alike, or null.
  static V ColumnScale(const float* scales, const float* columns, int vector) {
    V x = columns == nullptr ? Ops::All(1) : Ops::template Load<false>(columns + vector * kLanes, kLanes);
    if constexpr (Ops::kScales) x = x * Ops::template Load<false>(scales + vector * kLanes, kLanes);
    return x;
  }
  static float RowScale(const Sums& sums, Int row) {
    if constexpr (Ops::kScales) return sums.row_scales[row];
    return 1;
  }

  // Adds to sums of stretches before.
  static void AddUp(const Sums& sums, Int count) {
    const V columns[] = {ColumnScale(sums.column_scales, nullptr, 0), ColumnScale(sums.column_scales, nullptr, 1)};
    for (Int r = 0; r < count; ++r) {
      const V row = Ops::All(RowScale(sums, r));
      for (int v = 0; v < 2; ++v) {
        const Int at = r * kPiece + v * kLanes;
        const V before = sums.is_first ? Ops::All(0) : Ops::template Load<false>(sums.before + at, kLanes);
        const V x = Rows::Value(Rows::Load(sums.quarter + at)) * (columns[v] * row);
        Ops::template Store<false>(sums.before + at, kLanes, x + before);
      }
    }
  }

  // What has been made alike is undone.
  template <int kVectors>
  static void Complete(const float* rows, const float* columns, Int count, const Sums& sums, float* products) {
    V by_column[kVectors];
    for (int v = 0; v < kVectors; ++v) by_column[v] = ColumnScale(sums.column_scales, columns, v);
    for (Int r = 0; r < count; ++r) {
      const V row = Ops::All(RowScale(sums, r) * rows[r]);
      for (int v = 0; v < kVectors; ++v) {
        const V x = Rows::Value(Rows::Load(sums.quarter + r * kPiece + v * kLanes)) * (by_column[v] * row);
        Ops::template Store<false>(products + (r * kVectors + v) * kLanes, kLanes, x);
      }
    }
  }

  template <int kVectors>
  static void AddBefore(const float* rows, const float* columns, Int count, const float* before, float* products) {
    for (Int r = 0; r < count; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        float* product = products + (r * kVectors + v) * kLanes;
        const V by = Ops::template Load<false>(columns + v * kLanes, kLanes) * Ops::All(rows[r]);
        const V x = Ops::template Load<false>(before + r * kPiece + v * kLanes, kLanes) * by;
        Ops::template Store<false>(product, kLanes, x + Ops::template Load<false>(product, kLanes));
      }
    }
  }

  template <int kVectors>
  static void FinishRows(const Place& place, const float* rows, const float* columns, Int count, const Sums& sums) {
    alignas(64) float products[kMaxRows * kVectors * kLanes];
    Complete<kVectors>(rows, columns, count, sums, products);
    if (sums.before != nullptr) AddBefore<kVectors>(rows, columns, count, sums.before, products);
    Results::template Finish<kVectors>(place, count, products);
  }

  // All rows that exist, at most kMaxRows; `rows` and `columns` undo what has been made alike.
  static void Finish(const Place& place, const float* rows, const float* columns, Int count, const Sums& sums) {
    place.columns <= kLanes ? FinishRows<1>(place, rows, columns, count, sums)
                            : FinishRows<2>(place, rows, columns, count, sums);
  }
};

}  // namespace amp::kernels
