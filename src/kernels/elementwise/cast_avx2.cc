#include "kernels/elementwise/cast_table.h"

#if defined(__AVX2__) && defined(__F16C__)

#include <cstddef>

#include "kernels/base/vectors_avx2.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr std::size_t kWidth = static_cast<std::size_t>(kLanes);

// Each struct converts one vector of eight elements; the addresses need no alignment.
struct FloatToBF16Step {
  using From = float;
  using To = std::uint16_t;
  static void Run(const void* src, void* dst) {
    const __m256i wide = RoundToBF16(_mm256_loadu_si256(static_cast<const __m256i*>(src)));
    _mm_storeu_si128(static_cast<__m128i*>(dst), Halves(wide));
  }
};

struct BF16ToFloatStep {
  using From = std::uint16_t;
  using To = float;
  static void Run(const void* src, void* dst) {
    const __m256 wide = WidenBF16(_mm_loadu_si128(static_cast<const __m128i*>(src)));
    _mm256_storeu_ps(static_cast<float*>(dst), wide);
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
  alignas(32) unsigned char padded_in[kWidth * sizeof(typename Step::From)] = {};
  alignas(32) unsigned char padded_out[kWidth * sizeof(typename Step::To)];
  __builtin_memcpy(padded_in, in, count * sizeof(typename Step::From));
  Step::Run(padded_in, padded_out);
  __builtin_memcpy(out, padded_out, count * sizeof(typename Step::To));
}

template <typename Step>
void CastAll(const void* src, void* dst, std::size_t count) {
  const auto* in = static_cast<const unsigned char*>(src);
  auto* out = static_cast<unsigned char*>(dst);
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
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

const CastTable* CastTable::Avx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const CastTable* CastTable::Avx2() { return nullptr; }

}  // namespace amp::kernels

#endif
