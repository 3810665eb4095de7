// How products of int16 pack their rows. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include "kernels/pointwise_code.h"
#include "kernels/product_vectors_avx512vnni.h"

namespace amp::kernels {
namespace {

// Packs rows of bfloat16. Even and odd channels are separated, because the halves of 32 bits are.
struct Int16Packing {
  using Int = std::int64_t;
  using Tile = std::int16_t;
  using Stretch = PointwiseStretch;
  static constexpr Int kLanes = Int16Vectors::kLanes, kStep = 2 * kLanes, kBlock = kPointwiseBlock;

  static Int Min(Int a, Int b) { return a < b ? a : b; }

  // What numbers are multiplied by, in the order of factors, and what is added; then they are clipped, and multiplied
  // by factors.
  struct Scaling {
    const float *factors, *scale, *shift;  // without a scale: null
    __m512 low, high;
  };

  // Even channels, or odd ones.
  template <bool kScales>
  static __m512 Scaled(__m512i bits, const Scaling& scaling, Int at) {
    __m512 x = _mm512_castsi512_ps(bits);
    if constexpr (kScales) {
      x = _mm512_fmadd_ps(x, _mm512_loadu_ps(scaling.scale + at), _mm512_loadu_ps(scaling.shift + at));
      x = _mm512_maskz_min_ps(0xFFFF, scaling.high, _mm512_maskz_max_ps(0xFFFF, scaling.low, x));
    }
    return _mm512_mul_ps(x, _mm512_loadu_ps(scaling.factors + at));
  }

  // As many channels as two vectors have; of these the even ones, and the odd ones.
  static __m512i Load(const char* from, Int count) {
    const __mmask32 lanes = count >= kStep ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
    return _mm512_maskz_loadu_epi16(lanes, from);
  }
  template <bool kScales>
  static __m512 Even(__m512i bits, const Scaling& scaling, Int channel) {
    return Scaled<kScales>(_mm512_maskz_slli_epi32(0xFFFF, bits, 16), scaling, channel);
  }
  template <bool kScales>
  static __m512 Odd(__m512i bits, const Scaling& scaling, Int channel) {
    const __m512i upper = _mm512_and_si512(bits, _mm512_set1_epi32(static_cast<int>(0xFFFF0000)));
    return Scaled<kScales>(upper, scaling, channel + kLanes);
  }

  // The numbers of a chunk: `count` of them at `from`, whose first channel is `channel`. Gives the largest magnitude.
  template <bool kScales>
  static std::uint32_t Widen(const char* from, Int channel, Int count, const Scaling& scaling, float* to) {
    __m512i most = _mm512_setzero_si512();
    for (Int c = 0; c < count; c += kStep) {
      const __m512i bits = Load(from + c * 2, count - c);
      const __m512 even = Even<kScales>(bits, scaling, channel + c), odd = Odd<kScales>(bits, scaling, channel + c);
      _mm512_store_ps(to + c, even);
      _mm512_store_ps(to + c + kLanes, odd);
      most = Int16Vectors::Greater(most,
                                   Int16Vectors::Greater(Int16Vectors::Magnitude(even), Int16Vectors::Magnitude(odd)));
    }
    return Int16Vectors::Greatest(most);
  }

  // As many channels as two vectors have, in their order.
  static __m512i Rounded(const float* from, __m512 factor) {
    return Int16Vectors::Interleave(Int16Vectors::Round(_mm512_load_ps(from), factor),
                                    Int16Vectors::Round(_mm512_load_ps(from + kLanes), factor));
  }
  static void StoreBlocks(Tile* to, Int block_stride, __m512i numbers) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_extracti64x4_epi64(0xF, numbers, 0));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + block_stride),
                        _mm512_maskz_extracti64x4_epi64(0xF, numbers, 1));
  }

  static void Round(const float* from, Int count, float inverse, Int block_stride, Tile* to) {
    const __m512 factor = _mm512_set1_ps(inverse);
    for (Int c = 0; c < count; c += kStep, to += 2 * block_stride)
      StoreBlocks(to, block_stride, Rounded(from + c, factor));
  }

  // Channels of a stretch that begin at `row`; scales: of chunk after chunk.
  template <bool kScales>
  static void PackRow(const char* row, const Stretch& depth, Int chunk, const Scaling& scaling, Int rows, Tile* to,
                      float* scales) {
    alignas(64) float numbers[kPointwiseMaxChunk];
    const Int block_stride = PointwiseBlockStride(rows);
    for (Int c = depth.first; c < depth.end; c += chunk, to += chunk / kBlock * block_stride, scales += rows) {
      const Int count = Min(chunk, depth.end - c);
      *scales = Int16Vectors::ScaleOf(Widen<kScales>(row + c * 2, c, count, scaling, numbers));
      Round(numbers, count, 1 / *scales, block_stride, to);
    }
  }

  // Scale and shift in the order of factors.
  static void Separate(const float* from, Int count, float* to) {
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
    for (Int c = 0; c < count; c += kStep) {
      const __m512 first = Int16Vectors::Load<false>(from + c, count - c);
      const __m512 second = Int16Vectors::Load<false>(from + c + kLanes, count - c - kLanes);
      _mm512_storeu_ps(to + c, _mm512_permutex2var_ps(first, even, second));
      _mm512_storeu_ps(to + c + kLanes, _mm512_permutex2var_ps(first, odd, second));
    }
  }

  template <bool kScales>
  static void PackRows(const Pointwise& job, const PointwisePart& part, const Stretch& depth, const Scaling& scaling,
                       Tile* to, float* scales) {
    const Int chunk = PointwiseChunk(job.in_channels);
    PointwiseRows<Int16Vectors> rows(job, part.data.source, part.first_row);
    for (Int r = 0; r < part.num_rows; ++r, rows.Next(), to += kBlock, ++scales) {
      PackRow<kScales>(rows.get(), depth, chunk, scaling, part.num_rows, to, scales);
    }
  }

  static void PackWindows(const Pointwise& job, const PointwisePart& part, const Stretch& depth, const Scaling& scaling,
                          Tile* to, float* scales, char* numbers) {
    const Int chunk = PointwiseChunk(job.in_channels);
    for (Int r = 0; r < part.num_rows; ++r, to += kBlock, ++scales) {
      PointwiseWindows<Int16Vectors>::Gather<2>(job, part, part.first_row + r, depth, numbers);
      PackRow<false>(numbers, depth, chunk, scaling, part.num_rows, to, scales);
    }
  }

  static void Pack(const Pointwise& job, const PointwisePart& part, const Stretch& depth, Tile* to) {
    auto* scales = const_cast<float*>(PointwiseScalesBehind(part, to));
    float* space = scales + PointwiseScaleFloats(job, part.num_rows, part.depth);
    Scaling scaling{part.factors, nullptr, nullptr, {}, {}};
    if (job.window.channels > 0) {
      return PackWindows(job, part, depth, scaling, to, scales, reinterpret_cast<char*>(space));
    }
    if (part.data.scale == nullptr) return PackRows<false>(job, part, depth, scaling, to, scales);
    const Int count = PointwiseFactors(job.in_channels);
    Separate(part.data.scale, job.in_channels, space);
    Separate(part.data.shift, job.in_channels, space + count);
    scaling = {part.factors, space, space + count, _mm512_set1_ps(job.source_low), _mm512_set1_ps(job.source_high)};
    PackRows<true>(job, part, depth, scaling, to, scales);
  }
};

struct ProductVectors : Int16Vectors {
  using Packing = Int16Packing;
};

}  // namespace
}  // namespace amp::kernels
