#include "kernels/elementwise/cast_table.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include <immintrin.h>

#include "kernels/base/bf16_avx512.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr std::size_t kLanes = 16;
constexpr __mmask16 kAllLanes = 0xFFFF;

// Each struct converts the elements that `lanes` selects and touches no byte of the others; the
// addresses need no alignment.
struct FloatToBF16Step {
  using From = float;
  using To = std::uint16_t;
  static void Run(const void* src, void* dst, __mmask16 lanes) {
    _mm256_mask_storeu_epi16(dst, lanes, RoundToBF16(_mm512_maskz_loadu_epi32(lanes, src)));
  }
};

struct BF16ToFloatStep {
  using From = std::uint16_t;
  using To = float;
  static void Run(const void* src, void* dst, __mmask16 lanes) {
    const __m512i wide = _mm512_maskz_cvtepu16_epi32(kAllLanes, _mm256_maskz_loadu_epi16(lanes, src));
    _mm512_mask_storeu_epi32(dst, lanes, _mm512_maskz_slli_epi32(kAllLanes, wide, 16));
  }
};

// The rounding mode is part of the instruction, and it heeds neither flush-to-zero nor
// denormals-are-zero where that would show: float16 denormals are produced regardless, and float32
// denormals round to zero anyway.
struct FloatToHalfStep {
  using From = float;
  using To = std::uint16_t;
  static void Run(const void* src, void* dst, __mmask16 lanes) {
    const __m512 value = _mm512_maskz_loadu_ps(lanes, src);
    _mm256_mask_storeu_epi16(dst, lanes, _mm512_maskz_cvtps_ph(kAllLanes, value, _MM_FROUND_TO_NEAREST_INT));
  }
};

struct HalfToFloatStep {
  using From = std::uint16_t;
  using To = float;
  static void Run(const void* src, void* dst, __mmask16 lanes) {
    const __m512 value = _mm512_maskz_cvtph_ps(kAllLanes, _mm256_maskz_loadu_epi16(lanes, src));
    _mm512_mask_storeu_ps(dst, lanes, value);
  }
};

template <typename Step>
void CastAll(const void* src, void* dst, std::size_t count) {
  const auto* in = static_cast<const unsigned char*>(src);
  auto* out = static_cast<unsigned char*>(dst);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Step::Run(in + i * sizeof(typename Step::From), out + i * sizeof(typename Step::To), kAllLanes);
  }
  if (i < count) {
    const auto lanes = static_cast<__mmask16>((1u << (count - i)) - 1);
    Step::Run(in + i * sizeof(typename Step::From), out + i * sizeof(typename Step::To), lanes);
  }
}

constexpr CastTable kTable = {
    .isa = Isa::kAvx512,
    .float_to_bf16 = CastAll<FloatToBF16Step>,
    .bf16_to_float = CastAll<BF16ToFloatStep>,
    .float_to_half = CastAll<FloatToHalfStep>,
    .half_to_float = CastAll<HalfToFloatStep>,
};

}  // namespace

const CastTable* CastTable::Avx512() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const CastTable* CastTable::Avx512() { return nullptr; }

}  // namespace amp::kernels

#endif
