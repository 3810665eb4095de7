// Vectors of kernels that multiply tiles, without special instructions. Of internal linkage, on purpose: see
// cast_table.h.
#pragma once

#include "kernels/base/float_bits.h"
#include "kernels/base/vector_code.h"

namespace amp::kernels {
namespace {

struct TileVectors {
  using Code = VectorCode<Isa::kGeneric, 4>;
  using Vector = Code::Floats;
  using Tile = float;
  static constexpr int kLanes = 4;
  static constexpr int kRows = 4;
  static constexpr std::int64_t kPerUnit = 1;

  static Vector All(float x) { return Code::All(x); }
  static Vector MultiplyAdd(Vector a, Vector b, Vector c) { return a * b + c; }
  static Vector MultiplySubtract(Vector a, Vector b, Vector c) { return c - a * b; }

  // Comparisons in this order let a NaN through.
  static Vector Clip(Vector x, float low, float high) {
    x = x < low ? All(low) : x;
    return x > high ? All(high) : x;
  }

  // The larger number; a NaN where one of them is one.
  static Vector Maximum(Vector a, Vector b) {
    a = b > a ? b : a;
    return b != b ? b : a;
  }

  static Vector Load(const float* from) { return Code::Load(from); }
  static void Store(float* to, Vector x) { Code::Store(to, x); }
  // The first `count` lanes, if there are less than 4; zeros behind them.
  template <bool kIsBF16>
  static Vector Load(const void* from, std::int64_t count) {
    Vector x = All(0);
    for (std::int64_t i = 0; i < kLanes && i < count; ++i) {
      if constexpr (kIsBF16) {
        x[i] = BF16ToFloat(static_cast<const std::uint16_t*>(from)[i]);
      } else {
        x[i] = static_cast<const float*>(from)[i];
      }
    }
    return x;
  }

  template <bool kIsBF16>
  static void Store(void* to, std::int64_t count, Vector x) {
    for (std::int64_t i = 0; i < kLanes && i < count; ++i) {
      if constexpr (kIsBF16) {
        static_cast<std::uint16_t*>(to)[i] = FloatToBF16(x[i]);
      } else {
        static_cast<float*>(to)[i] = x[i];
      }
    }
  }

  static void StoreTile(float* to, Vector x) { Store<false>(to, kLanes, x); }
};

}  // namespace
}  // namespace amp::kernels
