// The casts of cast_table.h, for the instruction set that the translation unit is compiled for. Of internal linkage, on
// purpose: see there.
#pragma once

#include "kernels/base/element_vectors.h"
#include "kernels/elementwise/cast_table.h"

namespace amp::kernels {
namespace {

using Vectors = NativeVectors;

// Each struct converts one vector, or the first `count` elements of it, and touches no byte of the others; the
// addresses need no alignment.
struct FloatToBF16Step {
  using From = float;
  using To = std::uint16_t;
  static void Run(const void* src, void* dst, std::int64_t count) {
    Vectors::Store<true>(dst, count, Vectors::Load<false>(src, count));
  }
};

struct BF16ToFloatStep {
  using From = std::uint16_t;
  using To = float;
  static void Run(const void* src, void* dst, std::int64_t count) {
    Vectors::Store<false>(dst, count, Vectors::Load<true>(src, count));
  }
};

// The rounding mode is part of the instruction, and it heeds neither flush-to-zero nor
// denormals-are-zero where that would show: float16 denormals are produced regardless, and float32
// denormals round to zero anyway.
struct FloatToHalfStep {
  using From = float;
  using To = std::uint16_t;
  static void Run(const void* src, void* dst, std::int64_t count) {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT;
    const Vectors::Floats value = Vectors::Load<false>(src, count);
#if defined(__AVX512F__)
    const auto halves = _mm512_maskz_cvtps_ph(0xFFFF, value, kNearest);
#else
    const auto halves = _mm256_cvtps_ph(value, kNearest);
#endif
    Vectors::StoreHalves(dst, count, reinterpret_cast<Vectors::Halves>(halves));
  }
};

struct HalfToFloatStep {
  using From = std::uint16_t;
  using To = float;
  static void Run(const void* src, void* dst, std::int64_t count) {
    const Vectors::Halves halves = Vectors::LoadHalves(src, count);
#if defined(__AVX512F__)
    const auto value = _mm512_maskz_cvtph_ps(0xFFFF, reinterpret_cast<__m256i>(halves));
#else
    const auto value = _mm256_cvtph_ps(reinterpret_cast<__m128i>(halves));
#endif
    Vectors::Store<false>(dst, count, value);
  }
};

template <typename Step>
void CastAll(const void* src, void* dst, std::size_t count) {
  const auto* in = static_cast<const typename Step::From*>(src);
  auto* out = static_cast<typename Step::To*>(dst);
  const auto size = static_cast<std::int64_t>(count);
  std::int64_t i = 0;
  for (; i + Vectors::kLanes <= size; i += Vectors::kLanes) Step::Run(in + i, out + i, Vectors::kLanes);
  if (i < size) Step::Run(in + i, out + i, size - i);
}

constexpr CastTable CastTableOf(Isa isa) {
  return {.isa = isa,
          .float_to_bf16 = CastAll<FloatToBF16Step>,
          .bf16_to_float = CastAll<BF16ToFloatStep>,
          .float_to_half = CastAll<FloatToHalfStep>,
          .half_to_float = CastAll<HalfToFloatStep>};
}

}  // namespace
}  // namespace amp::kernels
