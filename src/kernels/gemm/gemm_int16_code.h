// How products of int16 pack their rows. One source for all instruction sets; each gives `Vectors` of internal linkage,
// on purpose: see cast_table.h.
#pragma once

#include "kernels/base/int16_products.h"
#include "kernels/gemm/gemm_code.h"

namespace amp::kernels {

// Packs rows of bfloat16. Even and odd channels are separated, because the halves of 32 bits are.
template <class Vectors>
struct Int16Packing {
  using V = typename Vectors::Vector;
  using Bits = typename Vectors::Bits;
  using Int = std::int64_t;
  using Tile = std::int16_t;
  using Stretch = GemmStretch;
  static constexpr Int kLanes = Vectors::kLanes, kStep = 2 * kLanes, kBlock = kGemmBlock;

  static Int Min(Int a, Int b) { return a < b ? a : b; }

  // Where the factors of channels begin: of even ones, and 16 numbers behind them of odd ones. See GemmFactorAt.
  static Int FactorsAt(Int channel) { return channel / 32 * 32 + channel % 32 / 2; }

  static V Load(const float* from) { return Vectors::template Load<false>(from, kLanes); }
  static void Store(float* to, V x) { Vectors::template Store<false>(to, kLanes, x); }

  // What numbers are multiplied by, in the order of factors, and what is added; then they are clipped, and multiplied
  // by factors.
  struct Scaling {
    const float *factors, *scale, *shift;  // without a scale: null
    float low, high;
  };

  template <bool kScales>
  static V Scaled(V x, const Scaling& scaling, Int at) {
    if constexpr (kScales) {
      x = Vectors::MultiplyAdd(x, Load(scaling.scale + at), Load(scaling.shift + at));
      x = Vectors::Clip(x, scaling.low, scaling.high);
    }
    return x * Load(scaling.factors + at);
  }

  // The even ones, and the odd ones, of as many channels as two vectors have.
  template <bool kScales>
  static V Even(Bits pairs, const Scaling& scaling, Int channel) {
    return Scaled<kScales>(Vectors::Even(pairs), scaling, FactorsAt(channel));
  }
  template <bool kScales>
  static V Odd(Bits pairs, const Scaling& scaling, Int channel) {
    return Scaled<kScales>(Vectors::Odd(pairs), scaling, FactorsAt(channel) + 16);
  }

  // The numbers of a chunk: `count` of them at `from`, whose first channel is `channel`. Gives the largest magnitude.
  template <bool kScales>
  static std::uint32_t Widen(const char* from, Int channel, Int count, const Scaling& scaling, float* to) {
    Bits most = Vectors::ZeroSum();
    for (Int c = 0; c < count; c += kStep) {
      const Bits pairs = Vectors::LoadPairs(from + c * 2, count - c);
      const V even = Even<kScales>(pairs, scaling, channel + c), odd = Odd<kScales>(pairs, scaling, channel + c);
      Store(to + c, even);
      Store(to + c + kLanes, odd);
      most = Vectors::Greater(most, Vectors::Greater(Vectors::Magnitude(even), Vectors::Magnitude(odd)));
    }
    return Vectors::Greatest(most);
  }

  // Rounds as many channels as two vectors have, in their order.
  static Bits Rounded(const float* from, V factor) {
    return Vectors::Interleave(Vectors::Round(Load(from), factor), Vectors::Round(Load(from + kLanes), factor));
  }

  static void Round(const float* from, Int count, float inverse, Int block_stride, Tile* to) {
    const V factor = Vectors::All(inverse);
    for (Int c = 0; c < count; c += kStep, to += kStep / kBlock * block_stride)
      Vectors::StoreBlocks(to, block_stride, Rounded(from + c, factor));
  }

  // Channels of a stretch that begin at `row`; scales: of chunk after chunk.
  template <bool kScales>
  static void PackRow(const char* row, const Stretch& depth, Int chunk, const Scaling& scaling, Int rows, Tile* to,
                      float* scales) {
    alignas(64) float numbers[kGemmMaxChunk];
    const Int block_stride = GemmBlockStride(rows);
    for (Int c = depth.first; c < depth.end; c += chunk, to += chunk / kBlock * block_stride, scales += rows) {
      const Int count = Min(chunk, depth.end - c);
      *scales = Int16ScaleOf(Widen<kScales>(row + c * 2, c, count, scaling, numbers));
      Round(numbers, count, 1 / *scales, block_stride, to);
    }
  }

  // Scale and shift in the order of factors.
  static void Separate(const float* from, Int count, float* to) {
    for (Int c = 0; c < count; c += kStep) {
      const V first = Vectors::template Load<false>(from + c, count - c);
      const V second = Vectors::template Load<false>(from + c + kLanes, count - c - kLanes);
      Store(to + FactorsAt(c), Vectors::Even(first, second));
      Store(to + FactorsAt(c) + 16, Vectors::Odd(first, second));
    }
  }

  template <bool kScales>
  static void PackRows(const Gemm& job, const GemmPart& part, const Stretch& depth, const Scaling& scaling, Tile* to,
                       float* scales) {
    const Int chunk = GemmChunk(job.in_channels);
    GemmRows<Vectors> rows(job, part.data.source, part.first_row);
    for (Int r = 0; r < part.num_rows; ++r, rows.Next(), to += kBlock, ++scales) {
      PackRow<kScales>(rows.get(), depth, chunk, scaling, part.num_rows, to, scales);
    }
  }

  static void PackWindows(const Gemm& job, const GemmPart& part, const Stretch& depth, const Scaling& scaling, Tile* to,
                          float* scales, char* numbers) {
    const Int chunk = GemmChunk(job.in_channels);
    for (Int r = 0; r < part.num_rows; ++r, to += kBlock, ++scales) {
      GemmWindows<Vectors>::template Gather<2>(job, part, part.first_row + r, depth, numbers);
      PackRow<false>(numbers, depth, chunk, scaling, part.num_rows, to, scales);
    }
  }

  static void Pack(const Gemm& job, const GemmPart& part, const Stretch& depth, Tile* to) {
    auto* scales = const_cast<float*>(GemmScalesBehind(part, to));
    float* space = scales + GemmScaleFloats(job, part.num_rows, part.depth);
    Scaling scaling{part.factors, nullptr, nullptr, 0, 0};
    if (job.window.channels > 0) {
      return PackWindows(job, part, depth, scaling, to, scales, reinterpret_cast<char*>(space));
    }
    if (part.data.scale == nullptr) return PackRows<false>(job, part, depth, scaling, to, scales);
    const Int count = GemmFactors(job.in_channels);
    Separate(part.data.scale, job.in_channels, space);
    Separate(part.data.shift, job.in_channels, space + count);
    scaling = {part.factors, space, space + count, job.source_low, job.source_high};
    PackRows<true>(job, part, depth, scaling, to, scales);
  }
};

// What multiplies rows that are packed so.
template <class Vectors>
struct Int16Products : Vectors {
  using Packing = Int16Packing<Vectors>;
};

}  // namespace amp::kernels
