// Vectors of products, without special instructions. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include "kernels/base/tile_vectors_generic.h"

namespace amp::kernels {
namespace {

struct ProductVectors : TileVectors {
  using Sum = Vector;
  static constexpr bool kScales = false;
  using Factor = Vector;
  using Column = Vector;

  static Vector ZeroSum() { return All(0); }
  static Vector Broadcast(const float* from) { return All(*from); }
  static Vector LoadColumn(const float* from) { return Code::Load(from); }
  static Vector Accumulate(Vector factor, Vector column, Vector sum) { return factor * column + sum; }
};

}  // namespace
}  // namespace amp::kernels
