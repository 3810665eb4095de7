#include "kernels/cast_table.h"

#if defined(__AVX2__) && defined(__F16C__)

#include <immintrin.h>

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr std::size_t kLanes = 8;

// FloatToBF16 on eight lanes; the results are zero-extended to 32 bits.
__m256i RoundToBF16(__m256i bits) {
  const __m256i upper = _mm256_srli_epi32(bits, 16);
  const __m256i is_odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(is_odd, _mm256_set1_epi32(0x7FFF));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
  const __m256i quiet_nan = _mm256_or_si256(upper, _mm256_set1_epi32(0x0040));
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
  const __m256i is_nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7F800000));
  return _mm256_blendv_epi8(rounded, quiet_nan, is_nan);
}

// Each struct converts one vector of eight elements; the addresses need no alignment.
struct FloatToBF16Step {
  using From = float;
  using To = std::uint16_t;
  static void Run(const void* src, void* dst) {
    const __m256i wide = RoundToBF16(_mm256_loadu_si256(static_cast<const __m256i*>(src)));
    const __m128i low = _mm256_castsi256_si128(wide);
    const __m128i high = _mm256_extracti128_si256(wide, 1);
    _mm_storeu_si128(static_cast<__m128i*>(dst), _mm_packus_epi32(low, high));
  }
};

struct BF16ToFloatStep {
  using From = std::uint16_t;
  using To = float;
  static void Run(const void* src, void* dst) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(src)));
    _mm256_storeu_si256(static_cast<__m256i*>(dst), _mm256_slli_epi32(wide, 16));
  }
};

// The rounding mode is part of the instruction, and it heeds neither flush-to-zero nor
// denormals-are-zero where that would show: float16 denormals are produced regardless, and float32
// denormals round to zero anyway.
struct FloatToHalfStep {
  using From = float;
  using To = std::uint16_t;
  static void Run(const void* src, void* dst) {
    const __m256 value = _mm256_castsi256_ps(_mm256_loadu_si256(static_cast<const __m256i*>(src)));
    _mm_storeu_si128(static_cast<__m128i*>(dst), _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  }
};

struct HalfToFloatStep {
  using From = std::uint16_t;
  using To = float;
  static void Run(const void* src, void* dst) {
    const __m256 value = _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(src)));
    _mm256_storeu_si256(static_cast<__m256i*>(dst), _mm256_castps_si256(value));
  }
};

// The tail goes through a padded copy, so that no byte outside the two ranges is touched.
template <typename Step>
void CastTail(const unsigned char* in, unsigned char* out, std::size_t count) {
  alignas(32) unsigned char padded_in[kLanes * sizeof(typename Step::From)] = {};
  alignas(32) unsigned char padded_out[kLanes * sizeof(typename Step::To)];
  __builtin_memcpy(padded_in, in, count * sizeof(typename Step::From));
  Step::Run(padded_in, padded_out);
  __builtin_memcpy(out, padded_out, count * sizeof(typename Step::To));
}

template <typename Step>
void CastAll(const void* src, void* dst, std::size_t count) {
  const auto* in = static_cast<const unsigned char*>(src);
  auto* out = static_cast<unsigned char*>(dst);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Step::Run(in + i * sizeof(typename Step::From), out + i * sizeof(typename Step::To));
  }
  if (i < count) {
    CastTail<Step>(in + i * sizeof(typename Step::From), out + i * sizeof(typename Step::To), count - i);
  }
}

constexpr CastTable kTable = {
    .isa = Isa::kAvx2,
    .float_to_bf16 = CastAll<FloatToBF16Step>,
    .bf16_to_float = CastAll<BF16ToFloatStep>,
    .float_to_half = CastAll<FloatToHalfStep>,
    .half_to_float = CastAll<HalfToFloatStep>,
};

}  // namespace

const CastTable* CastTableAvx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const CastTable* CastTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
