// Vectors of products in float32, for the instruction set that the translation unit is compiled for. Of internal
// linkage, on purpose: see cast_table.h.
#pragma once

#include "kernels/base/tile_vectors.h"

namespace amp::kernels {
namespace {

struct ProductVectors : TileVectors {
  using Sum = Vector;
  static constexpr bool kScales = false;
  using Factor = Vector;
  using Column = Vector;

  static Vector ZeroSum() { return All(0); }
  static Vector Broadcast(const float* from) { return All(*from); }
  static Vector LoadColumn(const float* from) { return Load(from); }
  static Vector Accumulate(Vector factor, Vector column, Vector sum) { return MultiplyAdd(factor, column, sum); }
#if defined(__AVX512F__)
  // The first eight; the others become zero. Assembly, because intrinsics cannot say that.
  [[gnu::always_inline]] static Vector AccumulateHalf(Vector factor, Vector column, Vector sum) {
    asm("vfmadd231ps %t2, %t1, %t0" : "+v"(sum) : "v"(factor), "v"(column));
    return sum;
  }
#endif
};

}  // namespace
}  // namespace amp::kernels
