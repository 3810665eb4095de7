// The code of masks, for vectors of kLanes blocks of random numbers. One source for all instruction sets; every name
// depends on the instruction set, on purpose: see vector_code.h.
#pragma once

#include <array>
#include <cstring>

#include "kernels/base/vector_of.h"
#include "kernels/elementwise/dropout_mask.h"

namespace amp::kernels {

template <Isa kIsa, int kLanes>
struct DropoutMaskCode {
  using Words = typename VectorOf<std::uint32_t, kLanes>::Type;
  using Longs = typename VectorOf<std::uint64_t, kLanes>::Type;

  static Words Low(const Longs& x) { return __builtin_convertvector(x, Words); }
  static Words High(const Longs& x) { return __builtin_convertvector(x >> 32, Words); }

  // See RandomStream::Block.
  static void Draw(const RandomStream& stream, std::uint64_t first, Words (&x)[4]) {
    Longs index;
    for (int lane = 0; lane < kLanes; ++lane) index[lane] = first + static_cast<std::uint64_t>(lane);
    x[0] = Low(index);
    x[1] = High(index);
    x[2] = Words{} + stream.upper()[0];
    x[3] = Words{} + stream.upper()[1];
    std::uint32_t key[2] = {stream.key()[0], stream.key()[1]};
    for (int round = 0; round < 10; ++round) {
      const Longs a = __builtin_convertvector(x[0], Longs) * std::uint64_t{0xD2511F53};
      const Longs b = __builtin_convertvector(x[2], Longs) * std::uint64_t{0xCD9E8D57};
      const Words second = x[1], fourth = x[3];
      x[0] = High(b) ^ second ^ key[0];
      x[1] = Low(b);
      x[2] = High(a) ^ fourth ^ key[1];
      x[3] = Low(a);
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
  }

  static void Blocks(const DropoutMask& job, const RandomStream& stream, std::int64_t first, std::int64_t blocks,
                     float* mask) {
    // Numbers are whole: below p * 2^32 means below the next whole number, or at most the one before.
    const double bound = job.p * 0x1p32;
    const auto whole = static_cast<std::uint64_t>(bound);
    const std::uint64_t dropped = whole + (static_cast<double>(whole) < bound ? 1 : 0);
    for (std::int64_t begin = 0; begin < blocks; begin += kLanes) {
      Words x[4];
      Draw(stream, static_cast<std::uint64_t>(first + begin), x);
      std::uint32_t drawn[4][kLanes];
      std::memcpy(drawn, x, sizeof drawn);
      const std::int64_t count = blocks - begin < kLanes ? blocks - begin : kLanes;
      float* to = mask + 4 * begin;
      for (std::int64_t block = 0; block < count; ++block) {
        for (int i = 0; i < 4; ++i) to[4 * block + i] = drawn[i][block] < dropped ? 0.0f : job.kept;
      }
    }
  }

  static constexpr DropoutMaskTable kTable = {kIsa, Blocks};
};

}  // namespace amp::kernels
