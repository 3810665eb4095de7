// How pairs of rows become packed rows of seven products of int16; see gemm_int16_code.h.
#pragma once

#include "kernels/gemm/gemm_int16_code.h"
#include "kernels/gemm/strassen_packing_code.h"

namespace amp::kernels {

// Numbers of a pair are rounded with one scale for each chunk, and integers are added. See StrassenRows.
template <class Ops>
struct Int16StrassenRows {
  using Packing = typename Ops::Packing;
  using Int = std::int64_t;
  using V = typename Ops::Vector;
  using Bits = typename Ops::Bits;
  static constexpr int kLanes = Ops::kLanes;
  static constexpr Int kStep = Packing::kStep, kBlock = kGemmBlock;

  static Bits Load(const float* from) { return Ops::LoadBits(from); }
  static void Store(float* to, Bits x) { Ops::StoreBits(to, x); }
  static Bits Add(Bits x, Bits y) { return Ops::Add32(x, y); }
  static Bits Subtract(Bits x, Bits y) { return Ops::Subtract32(x, y); }
  static V Value(Bits sum) { return Ops::Float(sum); }

  static constexpr float kMaxNumber = static_cast<float>(kStrassenMaxNumber);

  static typename Packing::Scaling ScalingBy(const float* factors) {
    typename Packing::Scaling scaling{};
    scaling.factors = factors;
    return scaling;
  }

  // See StrassenRows. Factors are in the order of even and odd channels.
  template <bool kIsBF16>
  static std::uint32_t Magnitude(const char* row, const float* factors, Int count) {
    const auto scaling = ScalingBy(factors);
    Bits most = Ops::ZeroSum();
    for (Int c = 0; c < count; c += kStep) {
      const Bits pairs = Ops::LoadPairs(row + c * 2, count - c);
      most = Ops::Greater(most, Ops::Magnitude(Packing::template Even<false>(pairs, scaling, c)));
      most = Ops::Greater(most, Ops::Magnitude(Packing::template Odd<false>(pairs, scaling, c)));
    }
    return Ops::Greatest(most);
  }

  // A chunk of the half of a row, from `channel` on: at most `depth` numbers, and zeros. Gives the largest magnitude.
  static float Widen(const Gemm& job, const char* row, const float* factors, Int channel, Int depth, float* to) {
    const Int count = Packing::Min(depth, job.in_channels - channel), begin = (count + kStep - 1) / kStep * kStep;
    for (Int c = count > 0 ? begin : 0; c < depth; c += kLanes) Packing::Store(to + c, Ops::All(0));
    if (count <= 0) return 0;
    const std::uint32_t bits =
        Packing::template Widen<false>(row + channel * 2, channel, count, ScalingBy(factors), to);
    float most;
    __builtin_memcpy(&most, &bits, sizeof most);
    return most;
  }

  static Bits SumOf(const Bits (&quarters)[4], const StrassenSum& sum) {
    if (sum.sign == 0) return quarters[sum.first];
    return sum.sign > 0 ? Ops::Add16(quarters[sum.first], quarters[sum.second])
                        : Ops::Subtract16(quarters[sum.first], quarters[sum.second]);
  }

  // `inverses`: what numbers of a row are multiplied by.
  static void Round(const float (&numbers)[4][kGemmMaxChunk], const float (&inverses)[2], Int depth, Int at,
                    const StrassenTiles<Ops>& tiles) {
    const Int stride = GemmBlockStride(tiles.pairs);
    const V by[2] = {Ops::All(inverses[0]), Ops::All(inverses[1])};
    std::int16_t* to = tiles.first + at * kBlock;
    for (Int c = 0; c < depth; c += kStep, to += kStep / kBlock * stride) {
      Bits quarters[4];
      for (int i = 0; i < 4; ++i) quarters[i] = Packing::Rounded(numbers[i] + c, by[i / 2]);
#pragma GCC unroll 7
      for (int product = 0; product < kStrassenProducts; ++product) {
        Ops::StoreBlocks(tiles.Of(product, to), stride, SumOf(quarters, kStrassenRows[product]));
      }
    }
  }

  template <bool kIsBF16>
  static void Pack(const Gemm& job, const Gemm& half, const StrassenPair& pair, const float* factors, Int first,
                   Int depth, Int at, const StrassenTiles<Ops>& tiles) {
    alignas(64) float numbers[4][kGemmMaxChunk];
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

}  // namespace amp::kernels
