// How pairs of rows become packed rows of seven products of int16. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include "kernels/pointwise_int16_code.h"
#include "kernels/strassen_packing_code.h"

namespace amp::kernels {
namespace {

// Numbers of a pair are rounded with one scale for each chunk, and integers are added.
struct Int16StrassenRows {
  using Int = std::int64_t;
  using V = __m512;
  static constexpr int kLanes = Int16Vectors::kLanes;
  static constexpr Int kStep = Int16Packing::kStep, kBlock = kPointwiseBlock;

  static __m512i Load(const float* from) { return _mm512_loadu_si512(from); }
  static void Store(float* to, __m512i x) { _mm512_storeu_si512(to, x); }
  static __m512i Add(__m512i x, __m512i y) { return _mm512_maskz_add_epi32(0xFFFF, x, y); }
  static __m512i Subtract(__m512i x, __m512i y) { return _mm512_maskz_sub_epi32(0xFFFF, x, y); }
  static V Value(__m512i sum) { return Int16Vectors::Float(sum); }

  static constexpr float kMaxNumber = static_cast<float>(kStrassenMaxNumber);

  static Int16Packing::Scaling ScalingBy(const float* factors) {
    Int16Packing::Scaling scaling{};
    scaling.factors = factors;
    return scaling;
  }

  // See StrassenRows. Factors are in the order of even and odd channels.
  template <bool kIsBF16>
  static std::uint32_t Magnitude(const char* row, const float* factors, Int count) {
    const Int16Packing::Scaling scaling = ScalingBy(factors);
    __m512i most = _mm512_setzero_si512();
    for (Int c = 0; c < count; c += kStep) {
      const __m512i bits = Int16Packing::Load(row + c * 2, count - c);
      most = Int16Vectors::Greater(most, Int16Vectors::Magnitude(Int16Packing::Even<false>(bits, scaling, c)));
      most = Int16Vectors::Greater(most, Int16Vectors::Magnitude(Int16Packing::Odd<false>(bits, scaling, c)));
    }
    return Int16Vectors::Greatest(most);
  }

  // A chunk of the half of a row, from `channel` on: at most `depth` numbers, and zeros. Gives the largest magnitude.
  static float Widen(const Pointwise& job, const char* row, const float* factors, Int channel, Int depth, float* to) {
    const Int count = Int16Packing::Min(depth, job.in_channels - channel), begin = (count + kStep - 1) / kStep * kStep;
    for (Int c = count > 0 ? begin : 0; c < depth; c += kLanes) _mm512_store_ps(to + c, _mm512_setzero_ps());
    if (count <= 0) return 0;
    const std::uint32_t bits = Int16Packing::Widen<false>(row + channel * 2, channel, count, ScalingBy(factors), to);
    float most;
    __builtin_memcpy(&most, &bits, sizeof most);
    return most;
  }

  static __m512i SumOf(const __m512i (&quarters)[4], const StrassenSum& sum) {
    if (sum.sign == 0) return quarters[sum.first];
    return sum.sign > 0 ? _mm512_add_epi16(quarters[sum.first], quarters[sum.second])
                        : _mm512_sub_epi16(quarters[sum.first], quarters[sum.second]);
  }

  // `inverses`: what numbers of a row are multiplied by.
  static void Round(const float (&numbers)[4][kPointwiseMaxChunk], const float (&inverses)[2], Int depth, Int at,
                    const StrassenTiles<ProductVectors>& tiles) {
    const Int stride = PointwiseBlockStride(tiles.pairs);
    const V by[2] = {_mm512_set1_ps(inverses[0]), _mm512_set1_ps(inverses[1])};
    std::int16_t* to = tiles.first + at * kBlock;
    for (Int c = 0; c < depth; c += kStep, to += 2 * stride) {
      __m512i quarters[4];
      for (int i = 0; i < 4; ++i) quarters[i] = Int16Packing::Rounded(numbers[i] + c, by[i / 2]);
#pragma GCC unroll 7
      for (int product = 0; product < kStrassenProducts; ++product) {
        Int16Packing::StoreBlocks(tiles.Of(product, to), stride, SumOf(quarters, kStrassenRows[product]));
      }
    }
  }

  template <bool kIsBF16>
  static void Pack(const Pointwise& job, const Pointwise& half, const StrassenPair& pair, const float* factors,
                   Int first, Int depth, Int at, const StrassenTiles<ProductVectors>& tiles) {
    alignas(64) float numbers[4][kPointwiseMaxChunk];
    float most = 0;
    for (int i = 0; i < 4; ++i) {
      const Int channel = pair.factors[i / 2] == 0 ? job.in_channels : first + i % 2 * half.in_channels;
      const float magnitude = Widen(job, pair.rows[i / 2], factors, channel, depth, numbers[i]) * pair.factors[i / 2];
      most = most < magnitude ? magnitude : most;
    }
    const float scale = most < kMaxNumber * kInt16LeastScale ? kInt16LeastScale : most / kMaxNumber;
    tiles.scales()[at] = scale;
    Round(numbers, {pair.factors[0] / scale, pair.factors[1] / scale}, depth, at, tiles);
  }
};

}  // namespace
}  // namespace amp::kernels
