// Vectors of kernels that multiply tiles, for the instruction set that the translation unit is compiled for. Of
// internal linkage, on purpose: see cast_table.h.
#pragma once

#include "kernels/base/element_vectors.h"

namespace amp::kernels {
namespace {

struct TileVectors : NativeVectors {
  using Vector = Floats;
  using Tile = float;
  // Two vectors of sums each, two vectors of weights and a factor fill the registers.
  static constexpr int kRows = kLanes == 16 ? 14 : kLanes == 8 ? 6 : 4;
  static constexpr std::int64_t kPerUnit = 1;

  static Vector MultiplySubtract(Vector a, Vector b, Vector c) { return MultiplyAdd(-a, b, c); }

  static Vector Clip(Vector x, float low, float high) { return Min(All(high), Max(All(low), x)); }

  // The larger number; a NaN where one of them is one.
  static Vector Maximum(Vector a, Vector b) { return a == a ? Max(a, b) : a; }

  // As those of NativeVectors. Without masks, parts of vectors are not inlined.
  template <bool kIsBF16>
  [[gnu::always_inline]] static Vector Load(const void* from, std::int64_t count) {
    return kLanes < 16 && count < kLanes ? LoadPart<kIsBF16>(from, count) : NativeVectors::Load<kIsBF16>(from, count);
  }
  using NativeVectors::Load;
  template <bool kIsBF16>
  [[gnu::always_inline]] static void Store(void* to, std::int64_t count, Vector x) {
    kLanes < 16 && count < kLanes ? StorePart<kIsBF16>(to, count, x) : NativeVectors::Store<kIsBF16>(to, count, x);
  }
  using NativeVectors::Store;

  static void StoreTile(float* to, Vector x) { Store(to, x); }

 private:
  template <bool kIsBF16>
  [[gnu::noinline]] static Vector LoadPart(const void* from, std::int64_t count) {
    return NativeVectors::Load<kIsBF16>(from, count);
  }
  template <bool kIsBF16>
  [[gnu::noinline]] static void StorePart(void* to, std::int64_t count, Vector x) {
    NativeVectors::Store<kIsBF16>(to, count, x);
  }
};

}  // namespace
}  // namespace amp::kernels
