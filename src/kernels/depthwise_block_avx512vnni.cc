#include "kernels/depthwise_block.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512BF16__) && defined(__AVX512VNNI__)

#include "kernels/depthwise_block_code.h"
#include "kernels/pointwise_int16_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

struct BlockVectors : ProductVectors {
  using Int = std::int64_t;
  static constexpr Int kBlock = kPointwiseBlock;

  // A chunk of channels of some positions, and the scales of these.
  struct Chunk {
    const float *from, *factors;
    Int blocks, stride;
    Tile* to;
    float* scales;
  };

  static std::uint32_t MostOf(const Chunk& chunk, Int position) {
    __m512i most = _mm512_setzero_si512();
    const float* from = chunk.from + position * kBlock;
    for (Int b = 0; b < chunk.blocks; ++b, from += chunk.stride) {
      const __m512 x = _mm512_mul_ps(_mm512_load_ps(from), _mm512_load_ps(chunk.factors + b * kBlock));
      most = Greater(most, Magnitude(x));
    }
    return Greatest(most);
  }

  // One position, or two neighbours.
  template <int kCount>
  static void RoundPositions(const Chunk& chunk, Int position) {
    __m512 inverses[kCount];
    for (int i = 0; i < kCount; ++i) {
      const float scale = ScaleOf(MostOf(chunk, position + i));
      chunk.scales[position + i] = scale;
      inverses[i] = _mm512_set1_ps(1 / scale);
    }
    const float* from = chunk.from + position * kBlock;
    Tile* to = chunk.to + position * kBlock;
    for (Int b = 0; b < chunk.blocks; ++b, from += chunk.stride, to += chunk.stride) {
      const __m512 factors = _mm512_load_ps(chunk.factors + b * kBlock);
      __m512i rounded[kCount];
      for (int i = 0; i < kCount; ++i) {
        rounded[i] = Int16Vectors::Round(_mm512_mul_ps(_mm512_load_ps(from + i * kBlock), factors), inverses[i]);
      }
      if constexpr (kCount == 2) {
        _mm512_storeu_si512(to, LowerHalves(rounded[0], rounded[1]));
      } else {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtepi32_epi16(0xFFFF, rounded[0]));
      }
    }
  }

  // In the order of channels.
  static void OrderFactors(const float* from, Int channels, float* to) {
    for (Int c = 0; c < channels; ++c) to[c] = from[PointwiseFactorAt(c)];
    for (Int c = channels; c < (channels + kBlock - 1) / kBlock * kBlock; ++c) to[c] = 0;
  }

  // What the depthwise convolution wrote becomes rows of the product.
  static void RoundBetween(const Pointwise& job, const PointwisePart& rows, const DepthwiseBlockPart& part,
                           Tile* tiles) {
    OrderFactors(rows.factors, job.in_channels, part.factors);
    const Int blocks = (job.in_channels + kBlock - 1) / kBlock, stride = PointwiseBlockStride(rows.num_rows);
    const Int chunk_blocks = PointwiseChunk(job.in_channels) / kBlock;
    auto* scales = const_cast<float*>(PointwiseScalesBehind(rows, tiles));
    for (Int b = 0; b < blocks; b += chunk_blocks, scales += rows.num_rows) {
      const Int count = blocks - b < chunk_blocks ? blocks - b : chunk_blocks;
      const Chunk chunk{
          part.between + b * stride, part.factors + b * kBlock, count, stride, tiles + b * stride, scales};
      Int position = 0;
      for (; position + 1 < rows.num_rows; position += 2) RoundPositions<2>(chunk, position);
      if (position < rows.num_rows) RoundPositions<1>(chunk, position);
    }
  }
};

constexpr DepthwiseBlockTable kTable = {Isa::kAvx512, {nullptr, nullptr, DepthwiseBlockCode<BlockVectors>::Run}};

}  // namespace

const DepthwiseBlockTable* DepthwiseBlockTableAvx512VNNI() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const DepthwiseBlockTable* DepthwiseBlockTableAvx512VNNI() { return nullptr; }

}  // namespace amp::kernels

#endif
