#include "kernels/winograd.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512BF16__) && defined(__AVX512VNNI__)

#include <immintrin.h>

#include "kernels/product_vectors_avx512vnni.h"
#include "kernels/winograd_code.h"
#include "kernels/winograd_weights_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

// Pairs of int16 products, summed up in int32 over a chunk of channels.
struct IntegerOps : Int16Vectors {
  using Int = std::int64_t;

  static void StoreTile(float* to, __m512 x) { _mm512_store_ps(to, x); }

  // The largest magnitudes of four products in `blocks` vectors, as bits: those of a NaN are larger than any number's.
  static __m128i MostOf4(const float* from, Int stride, Int block_stride, Int blocks) {
    const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
    __m512i most[4];
    for (int p = 0; p < 4; ++p) most[p] = _mm512_setzero_si512();
    for (Int b = 0; b < blocks; ++b, from += block_stride) {
      for (int p = 0; p < 4; ++p) {
        most[p] = Greater(most[p], _mm512_and_si512(_mm512_load_si512(from + p * stride), magnitude));
      }
    }
    __m512i two[2];
    for (int p = 0; p < 2; ++p) {
      two[p] = Greater(_mm512_maskz_unpacklo_epi32(0xFFFF, most[2 * p], most[2 * p + 1]),
                       _mm512_maskz_unpackhi_epi32(0xFFFF, most[2 * p], most[2 * p + 1]));
    }
    const __m512i four =
        Greater(_mm512_maskz_unpacklo_epi64(0xFF, two[0], two[1]), _mm512_maskz_unpackhi_epi64(0xFF, two[0], two[1]));
    const __m256i half =
        _mm256_max_epu32(_mm512_maskz_extracti64x4_epi64(0xF, four, 0), _mm512_maskz_extracti64x4_epi64(0xF, four, 1));
    return _mm_max_epu32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  }

  static __m512i Round(const float* from, float inverse) {
    return Int16Vectors::Round(_mm512_load_ps(from), _mm512_set1_ps(inverse));
  }

  // `blocks` vectors of a product, of so many tiles that lie side by side.
  template <int kTiles>
  static void Round(const float* from, Int from_block, Int blocks, const float* inverse, Int inverse_stride, Tile* to,
                    Int to_block) {
    for (Int b = 0; b < blocks; ++b, from += from_block, to += to_block) {
      const __m512i first = Round(from, inverse[0]);
      if constexpr (kTiles == 2) {
        const __m512i second = Round(from + kWinogradBlock, inverse[inverse_stride]);
        _mm512_storeu_si512(to, LowerHalves(first, second));
      } else {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtepi32_epi16(0xFFFF, first));
      }
    }
  }

  // The scales of a tile's products, and their inverses. Where a number is none, or infinite, the scale is a NaN.
  template <int kProducts>
  static void FindScales(const float* from, Int stride, Int block_stride, Int blocks, float* scales, float* inverses) {
    const __m512 least = _mm512_set1_ps(kInt16LeastScale), limit = _mm512_set1_ps(kInt16MaxNumber);
    for (int p = 0; p < kProducts; p += 4) {
      _mm_store_ps(scales + p, _mm_castsi128_ps(MostOf4(from + p * stride, stride, block_stride, blocks)));
    }
    for (int p = 0; p < kProducts; p += kLanes) {
      const __m512i bits = _mm512_load_si512(scales + p);
      const __mmask16 is_finite = _mm512_cmplt_epu32_mask(bits, _mm512_set1_epi32(0x7F800000));
      const __m512 found = _mm512_maskz_max_ps(0xFFFF, _mm512_div_ps(_mm512_castsi512_ps(bits), limit), least);
      const __m512 kept = _mm512_mask_mov_ps(_mm512_set1_ps(__builtin_nanf("")), is_finite, found);
      _mm512_store_ps(scales + p, kept);
      _mm512_store_ps(inverses + p, _mm512_div_ps(_mm512_set1_ps(1), kept));
    }
  }

  // `blocks` blocks of channels of all products of one or two tiles that lie side by side, and the tiles' scales for
  // each of these.
  template <int kProducts, int kTiles>
  static void Quantise(const float* from, Int from_stride, Int from_block, Int blocks, Tile* to, Int to_stride,
                       Int to_block, float* scales, Int scale_stride) {
    constexpr int kSpace = (kProducts + kLanes - 1) / kLanes * kLanes;
    alignas(64) float scale[kTiles * kSpace] = {}, inverse[kTiles * kSpace];
    for (int t = 0; t < kTiles; ++t) {
      FindScales<kProducts>(from + t * kWinogradBlock, from_stride, from_block, blocks, scale + t * kSpace,
                            inverse + t * kSpace);
    }
    for (int p = 0; p < kProducts; ++p) {
      for (int t = 0; t < kTiles; ++t) scales[p * scale_stride + t] = scale[t * kSpace + p];
      Round<kTiles>(from + p * from_stride, from_block, blocks, inverse + p, kSpace, to + p * to_stride, to_block);
    }
  }

  // The products of a chunk of channels. Those of the first one are stored, others are added.
  struct Chunk {
    const Tile *tiles, *weights;
    Int block_stride, depth;
    const float *row_scales, *column_scales;
    bool is_first;
  };

  template <int kCount, int kVectors>
  static void MultiplyChunk(const Chunk& chunk, WinogradAhead ahead, float* products, Int row_stride) {
    constexpr Int kPairs = kWinogradBlock / kPerUnit;
    const Tile *tiles = chunk.tiles, *weights = chunk.weights;
    __m512i sums[kCount][kVectors];
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_si512();
    }
    for (Int depth = chunk.depth; depth > 0; depth -= kPairs, tiles += chunk.block_stride) {
      const Int count = depth < kPairs ? depth : kPairs;
      for (Int k = 0; k < count; ++k, weights += kPerUnit * kWinogradColumns) {
        __m512i columns[kVectors];
        for (int v = 0; v < kVectors; ++v) columns[v] = _mm512_loadu_si512(weights + v * kPerUnit * kLanes);
        _mm_prefetch(ahead.weights, _MM_HINT_T1);
        _mm_prefetch(ahead.weights + kLine, _MM_HINT_T1);
        ahead.weights += ahead.step;
#pragma GCC unroll 14
        for (int r = 0; r < kCount; ++r) {
          std::int32_t pair;
          __builtin_memcpy(&pair, tiles + r * kWinogradBlock + k * kPerUnit, sizeof pair);
          const __m512i factor = _mm512_set1_epi32(pair);
          for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_dpwssd_epi32(sums[r][v], factor, columns[v]);
        }
      }
    }
    __m512 columns[kVectors];
    for (int v = 0; v < kVectors; ++v) columns[v] = _mm512_loadu_ps(chunk.column_scales + v * kLanes);
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) {
      const __m512 scale = _mm512_set1_ps(chunk.row_scales[r]);
      for (int v = 0; v < kVectors; ++v) {
        float* to = products + r * row_stride + v * kLanes;
        const __m512 factor = _mm512_mul_ps(scale, columns[v]), sum = _mm512_maskz_cvtepi32_ps(0xFFFF, sums[r][v]);
        const __m512 before = chunk.is_first ? _mm512_setzero_ps() : _mm512_loadu_ps(to);
        _mm512_storeu_ps(to, _mm512_fmadd_ps(sum, factor, before));
      }
    }
  }

  template <int kCount, int kVectors>
  static void Product(const WinogradRows<Tile>& rows, const WinogradColumn<Tile>& packed, WinogradAhead ahead,
                      float* products, Int row_stride) {
    constexpr Int kChunkUnits = kWinogradChunk / kPerUnit, kChunkBlocks = kWinogradChunk / kWinogradBlock;
    Chunk chunk{rows.tiles, packed.weights, rows.block_stride, 0, rows.scales, packed.scales, true};
    for (Int left = packed.depth; left > 0; left -= kChunkUnits) {
      chunk.depth = left < kChunkUnits ? left : kChunkUnits;
      MultiplyChunk<kCount, kVectors>(chunk, ahead, products, row_stride);
      chunk.tiles += kChunkBlocks * rows.block_stride;
      chunk.weights += kWinogradChunk * kWinogradColumns;
      chunk.row_scales += rows.scale_stride;
      chunk.is_first = false;
      ahead.weights += kChunkUnits * ahead.step;
    }
  }
};

constexpr WinogradTable kTable = {
    Isa::kAvx512,
    {nullptr, nullptr, WinogradCode<IntegerOps, 4, 4>::Run, WinogradCode<IntegerOps, 4, 2>::Run,
     WinogradCode<IntegerOps, 2, 2>::Run},
    {nullptr, nullptr, WinogradWeightsCode<IntegerOps, 4, 4>::Pack, WinogradWeightsCode<IntegerOps, 4, 2>::Pack,
     WinogradWeightsCode<IntegerOps, 2, 2>::Pack},
    TileVectors::kRows};

}  // namespace

const WinogradTable* WinogradTableAvx512VNNI() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const WinogradTable* WinogradTableAvx512VNNI() { return nullptr; }

}  // namespace amp::kernels

#endif
