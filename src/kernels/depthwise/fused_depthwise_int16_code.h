// How what a depthwise convolution wrote becomes rows of int16; see gemm_int16_code.h and fused_depthwise_code.h.
#pragma once

#include "kernels/depthwise/fused_depthwise_code.h"
#include "kernels/gemm/gemm_int16_code.h"

namespace amp::kernels {

template <class Vectors>
struct Int16Blocks : Int16Products<Vectors> {
  using V = typename Vectors::Vector;
  using Bits = typename Vectors::Bits;
  using Tile = typename Vectors::Tile;
  using Int = std::int64_t;
  static constexpr int kLanes = Vectors::kLanes;
  static constexpr Int kBlock = kGemmBlock, kVectors = kBlock / kLanes;

  static V LoadNumbers(const float* from) { return Vectors::template Load<false>(from, kLanes); }

  // A chunk of channels of some positions, and the scales of these.
  struct Chunk {
    const float *from, *factors;
    Int blocks, stride;
    Tile* to;
    float* scales;
  };

  static std::uint32_t MostOf(const Chunk& chunk, Int position) {
    Bits most = Vectors::ZeroSum();
    const float* from = chunk.from + position * kBlock;
    for (Int b = 0; b < chunk.blocks; ++b, from += chunk.stride) {
      for (Int lane = 0; lane < kBlock; lane += kLanes) {
        const V x = LoadNumbers(from + lane) * LoadNumbers(chunk.factors + b * kBlock + lane);
        most = Vectors::Greater(most, Vectors::Magnitude(x));
      }
    }
    return Vectors::Greatest(most);
  }

  // One position, or two neighbours.
  template <int kCount>
  static void RoundPositions(const Chunk& chunk, Int position) {
    V inverses[kCount];
    for (int i = 0; i < kCount; ++i) {
      const float scale = Int16ScaleOf(MostOf(chunk, position + i));
      chunk.scales[position + i] = scale;
      inverses[i] = Vectors::All(1 / scale);
    }
    const float* from = chunk.from + position * kBlock;
    Tile* to = chunk.to + position * kBlock;
    for (Int b = 0; b < chunk.blocks; ++b, from += chunk.stride, to += chunk.stride) {
      Bits rounded[kCount][kVectors];
      for (int v = 0; v < kVectors; ++v) {
        const V factors = LoadNumbers(chunk.factors + b * kBlock + v * kLanes);
        for (int i = 0; i < kCount; ++i) {
          rounded[i][v] = Vectors::Round(LoadNumbers(from + i * kBlock + v * kLanes) * factors, inverses[i]);
        }
      }
      Vectors::StoreRounded(to, rounded);
    }
  }

  // In the order of channels.
  static void OrderFactors(const float* from, Int channels, float* to) {
    for (Int c = 0; c < channels; ++c) to[c] = from[GemmFactorAt(c)];
    for (Int c = channels; c < (channels + kBlock - 1) / kBlock * kBlock; ++c) to[c] = 0;
  }

  // What the depthwise convolution wrote becomes rows of the product.
  static void RoundBetween(const Gemm& job, const GemmPart& rows, const FusedDepthwisePart& part, Tile* tiles) {
    OrderFactors(rows.factors, job.in_channels, part.factors);
    const Int blocks = (job.in_channels + kBlock - 1) / kBlock, stride = GemmBlockStride(rows.num_rows);
    const Int chunk_blocks = GemmChunk(job.in_channels) / kBlock;
    auto* scales = const_cast<float*>(GemmScalesBehind(rows, tiles));
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

}  // namespace amp::kernels
