#include "kernels/elementwise/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace amp::kernels {
namespace {

using Block = std::array<std::uint32_t, 4>;

// Published with the generator: counter and key 0.
TEST(RandomStream, GivesTheNumbersOfThePaper) {
  EXPECT_EQ(RandomStream(0, 0, 0).Block(0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(RandomStream, DependsOnSeedRunNumberAndPosition) {
  const Block block = RandomStream(1, 2, 3).Block(4);
  EXPECT_EQ(RandomStream(1, 2, 3).Block(4), block);
  EXPECT_NE(RandomStream(2, 2, 3).Block(4), block);
  EXPECT_NE(RandomStream(1, 3, 3).Block(4), block);
  EXPECT_NE(RandomStream(1, 2, 4).Block(4), block);
  EXPECT_NE(RandomStream(1, 2, 3).Block(5), block);
}

TEST(RandomStream, IsUniform) {
  constexpr int kBlocks = 1 << 14;
  const RandomStream stream(5, 6, 7);
  double sum = 0;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    for (const std::uint32_t number : stream.Block(i)) sum += number * 0x1p-32;
  }
  const double deviation = 1 / std::sqrt(12.0 * 4 * kBlocks);  // of the mean
  EXPECT_NEAR(sum / (4 * kBlocks), 0.5, 5 * deviation);
}

}  // namespace
}  // namespace amp::kernels
