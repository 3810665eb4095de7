// How pairs of rows become packed rows of seven products; see strassen.h.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm_packing_code.h"
#include "kernels/gemm/strassen.h"

namespace amp::kernels {

// Two rows. Without a factor a row is none: its numbers count as zeros.
struct StrassenPair {
  const char* rows[2];
  float factors[2];
};

// Packed rows of all products, each [channel / 16][pair][channel % 16]. Scales of pairs, where numbers have some, lie
// behind those of the first.
template <class Ops>  // for internal linkage
struct StrassenTiles {
  using Tile = typename Ops::Tile;
  Tile* first;
  std::int64_t bytes;  // from one product to the next
  std::int64_t pairs, depth;

  // Where a number of the first product lies, that of another.
  Tile* Of(int product, Tile* at) const {
    return reinterpret_cast<Tile*>(reinterpret_cast<char*>(at) + product * bytes);
  }
  float* scales() const { return reinterpret_cast<float*>(first + depth / kGemmBlock * GemmBlockStride(pairs)); }
};

// Rows of numbers without scales.
template <class Ops>
struct StrassenRows {
  using V = typename Ops::Vector;
  using Int = std::int64_t;
  using Tile = typename Ops::Tile;
  static constexpr int kLanes = Ops::kLanes;
  static constexpr Int kBlock = kGemmBlock;

  static V Load(const float* from) { return Ops::template Load<false>(from, kLanes); }
  static void Store(float* to, V x) { Ops::template Store<false>(to, kLanes, x); }
  static V Add(V x, V y) { return x + y; }
  static V Subtract(V x, V y) { return x - y; }
  static V Value(V sum) { return sum; }

  // The bits of the largest magnitude of a row's numbers times their factors; those of a NaN are larger than any.
  template <bool kIsBF16>
  static std::uint32_t Magnitude(const char* row, const float* factors, Int count) {
    using Bits = decltype(V{} < V{});  // signed, as wide as a number
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    Bits most{};
    for (Int c = 0; c < count; c += kLanes) {
      const V factor = Ops::template Load<false>(factors + c, kLanes);
      const V x = Ops::template Load<kIsBF16>(row + c * kElement, count - c) * factor;
      const Bits bits = reinterpret_cast<Bits>(x) & 0x7FFFFFFF;
      most = bits > most ? bits : most;
    }
    std::int32_t greatest = 0;
    for (int lane = 0; lane < kLanes; ++lane) greatest = most[lane] > greatest ? most[lane] : greatest;
    return static_cast<std::uint32_t>(greatest);
  }

  // Input channels of a half from `first` on: `depth` of them. The pair is the one at `at`.
  template <bool kIsBF16>
  static void Pack(const Gemm& job, const Gemm& half, const StrassenPair& pair, const float* factors, Int first,
                   Int depth, Int at, const StrassenTiles<Ops>& tiles) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    const V by[2] = {Ops::All(pair.factors[0]), Ops::All(pair.factors[1])};
    Int to = at * kBlock;
    for (Int c = first; c < first + depth; c += kBlock, to += GemmBlockStride(tiles.pairs)) {
      for (Int lane = 0; lane < kBlock; lane += kLanes) {
        V x[4];
        for (int i = 0; i < 4; ++i) {
          const Int channel = c + lane + i % 2 * half.in_channels;
          const Int count = pair.factors[i / 2] == 0 ? 0 : job.in_channels - channel;
          x[i] = count <= 0 ? Ops::All(0)
                            : Ops::template Load<kIsBF16>(pair.rows[i / 2] + channel * kElement, count) *
                                  Ops::template Load<false>(factors + channel, kLanes) * by[i / 2];
        }
#pragma GCC unroll 7
        for (int product = 0; product < kStrassenProducts; ++product) {
          const StrassenSum sum = kStrassenRows[product];
          Ops::StoreTile(tiles.Of(product, tiles.first + to + lane),
                         Ops::MultiplyAdd(Ops::All(sum.sign), x[sum.second], x[sum.first]));
        }
      }
    }
  }
};

}  // namespace amp::kernels
