#include "kernels/base/float_bits.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "narrow_oracle.h"
#include "samples.h"

namespace amp::kernels {
namespace {

using testing::BF16Oracle;
using testing::Exact;
using testing::HalfOracle;
using testing::NarrowOracle;

// The conversions are usable in constant expressions.
static_assert(FloatToBF16(1.0f) == 0x3F80 && FloatToHalf(1.0f) == 0x3C00);
static_assert(BF16ToFloat(0xC000) == -2.0f && HalfToFloat(0xC000) == -2.0f);
static_assert(DoubleToBF16(1.0) == 0x3F80 && DoubleToHalf(0x1p-24) == 1);
static_assert(IntegerToBF16(int64_t{-3}) == 0xC040);
static_assert(FloatToHalf(std::numeric_limits<float>::quiet_NaN()) == 0x7E00);

uint16_t ExpectedFromFloat(const NarrowOracle& oracle, uint32_t bits) {
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  if (is_nan) return oracle.EncodeNaN(bits >> 31 != 0, uint64_t{bits} << 41);
  return oracle.Encode(std::bit_cast<float>(bits));
}

uint16_t ExpectedFromDouble(const NarrowOracle& oracle, uint64_t bits) {
  const bool is_nan = bits << 1 > uint64_t{0x7FF} << 53;
  if (is_nan) return oracle.EncodeNaN(bits >> 63 != 0, bits << 12);
  return oracle.Encode(std::bit_cast<double>(bits));
}

std::vector<uint32_t> FloatSamples() {
  std::vector<uint32_t> bits = testing::CornerFloatBits();
  for (uint64_t random : testing::RandomBits(1 << 18, 1)) bits.push_back(static_cast<uint32_t>(random));
  return bits;
}

// Random patterns have huge exponents; a second batch moves them near the range of the narrow
// formats.
std::vector<uint64_t> DoubleSamples() {
  std::vector<uint64_t> bits = testing::CornerDoubleBits();
  for (uint64_t random : testing::RandomBits(1 << 17, 2)) {
    const uint64_t exponent = 1023 - 140 + (random >> 52) % 280;
    bits.insert(bits.end(), {random, (random & 0x800FFFFFFFFFFFFFu) | exponent << 52});
  }
  return bits;
}

TEST(FloatBits, FloatToBF16MatchesTheDefinition) {
  for (uint32_t bits : FloatSamples()) {
    ASSERT_EQ(FloatToBF16(std::bit_cast<float>(bits)), ExpectedFromFloat(BF16Oracle(), bits)) << std::hex << bits;
  }
}

TEST(FloatBits, FloatToHalfMatchesTheDefinition) {
  for (uint32_t bits : FloatSamples()) {
    ASSERT_EQ(FloatToHalf(std::bit_cast<float>(bits)), ExpectedFromFloat(HalfOracle(), bits)) << std::hex << bits;
  }
}

TEST(FloatBits, DoublesRoundOnce) {
  for (uint64_t bits : DoubleSamples()) {
    const auto value = std::bit_cast<double>(bits);
    ASSERT_EQ(DoubleToBF16(value), ExpectedFromDouble(BF16Oracle(), bits)) << std::hex << bits;
    ASSERT_EQ(DoubleToHalf(value), ExpectedFromDouble(HalfOracle(), bits)) << std::hex << bits;
  }
}

// 1 + half an ulp + a little: rounding to float32 first would lose the little, and the tie would
// then go down.
TEST(FloatBits, DoubleIsNotRoundedViaFloat) {
  EXPECT_EQ(DoubleToBF16(1 + 0x1p-8 + 0x1p-40), 0x3F81);
  EXPECT_EQ(FloatToBF16(static_cast<float>(1 + 0x1p-8 + 0x1p-40)), 0x3F80);
  EXPECT_EQ(DoubleToHalf(1 + 0x1p-11 + 0x1p-40), 0x3C01);
}

TEST(FloatBits, IntegersRoundOnceToBF16) {
  std::vector<uint64_t> samples = testing::CornerIntegerBits();
  for (uint64_t random : testing::RandomBits(1 << 17, 3)) samples.push_back(random >> (random % 64));
  for (uint64_t bits : samples) {
    const auto value = static_cast<int64_t>(bits);
    ASSERT_EQ(IntegerToBF16(value), BF16Oracle().Encode(static_cast<Exact>(value))) << value;
    ASSERT_EQ(IntegerToBF16(bits), BF16Oracle().Encode(static_cast<Exact>(bits))) << bits;
  }
}

TEST(FloatBits, EveryBF16RoundTrips) {
  for (uint32_t code = 0; code <= 0xFFFF; ++code) {
    const auto bf16 = static_cast<uint16_t>(code);
    const float value = BF16ToFloat(bf16);
    if (BF16Oracle().IsNaN(bf16)) {
      ASSERT_EQ(FloatToBF16(value), bf16 | 0x0040) << code;
      continue;
    }
    ASSERT_EQ(static_cast<Exact>(value), BF16Oracle().Decode(bf16)) << code;
    ASSERT_EQ(FloatToBF16(value), bf16);
    ASSERT_EQ(DoubleToBF16(value), bf16);
  }
}

TEST(FloatBits, EveryHalfRoundTrips) {
  for (uint32_t code = 0; code <= 0xFFFF; ++code) {
    const auto half = static_cast<uint16_t>(code);
    const float value = HalfToFloat(half);
    if (HalfOracle().IsNaN(half)) {
      const uint32_t expected = (code & 0x8000u) << 16 | 0x7FC00000u | (code & 0x3FFu) << 13;
      ASSERT_EQ(std::bit_cast<uint32_t>(value), expected) << code;
      ASSERT_EQ(FloatToHalf(value), half | 0x0200) << code;
      continue;
    }
    ASSERT_EQ(static_cast<Exact>(value), HalfOracle().Decode(half)) << code;
    ASSERT_EQ(FloatToHalf(value), half);
    ASSERT_EQ(DoubleToHalf(value), half);
  }
}

TEST(FloatBits, BoundariesOfTheRange) {
  EXPECT_EQ(FloatToBF16(std::numeric_limits<float>::max()),
            0x7F80);  // nearer to 2^128 than to the largest finite
  EXPECT_EQ(FloatToBF16(std::bit_cast<float>(0x7F7F7FFFu)), 0x7F7F);
  EXPECT_EQ(FloatToBF16(std::bit_cast<float>(0x7F7F8000u)), 0x7F80);
  EXPECT_EQ(FloatToBF16(std::bit_cast<float>(0x00008001u)), 0x0001);  // a denormal survives
  EXPECT_EQ(FloatToBF16(std::bit_cast<float>(0x80008000u)),
            0x8000);  // a tie goes to even, the sign stays
  EXPECT_EQ(FloatToHalf(65504.0f), 0x7BFF);
  EXPECT_EQ(FloatToHalf(std::bit_cast<float>(0x477FEFFFu)), 0x7BFF);  // just below 65520
  EXPECT_EQ(FloatToHalf(-65520.0f), 0xFC00);
  EXPECT_EQ(FloatToHalf(0x1p-25f), 0x0000);
  EXPECT_EQ(FloatToHalf(-0x1.000002p-25f), 0x8001);
  EXPECT_EQ(FloatToHalf(0x1.ffcp-15f),
            0x0400);  // a tie between the largest denormal and the smallest normal
}

}  // namespace
}  // namespace amp::kernels
