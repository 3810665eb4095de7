#include "program/compensated_rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "program/cast_arrays.h"

namespace amp {
namespace {

NDArray Random(Shape shape, std::uint32_t seed) {
  NDArray array(DType::kFloat32, std::move(shape));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.1f);
  for (std::int64_t i = 0; i < array.size(); ++i) array.As<float>()[i] = normal(random);
  return array;
}
NDArray ToNearest(const NDArray& array, DType target) { return CastArray(CastArray(array, target), DType::kFloat32); }
bool Equal(const NDArray& a, const NDArray& b) { return std::memcmp(a.data(), b.data(), a.bytes()) == 0; }

// What the errors of the elements `first`, `first + stride`, ... add up to.
double Drift(const NDArray& weight, const NDArray& rounded, std::int64_t first, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = first; i < first + count; ++i) {
    sum += static_cast<double>(rounded.As<float>()[i]) - static_cast<double>(weight.As<float>()[i]);
  }
  return std::fabs(sum);
}

TEST(RoundWithCompensation, EveryNumberBecomesANeighbourThatTheTargetHas) {
  for (const DType target : {DType::kBFloat16, DType::kFloat16}) {
    const NDArray weight = Random({8, 16, 3, 3}, 1), rounded = RoundWithCompensation(weight, {"", target, 0, 1});
    EXPECT_TRUE(Equal(ToNearest(rounded, target), rounded));
    const NDArray nearest = ToNearest(weight, target);
    std::int64_t moved = 0;
    for (std::int64_t i = 0; i < weight.size(); ++i) {
      const float w = weight.As<float>()[i], r = rounded.As<float>()[i], n = nearest.As<float>()[i];
      moved += r != n;
      EXPECT_TRUE(r == n || (r < w && w < n) || (n < w && w < r)) << w << " " << r << " " << n;
      const float step = target == DType::kBFloat16 ? 0x1p-7f : 0x1p-10f;
      EXPECT_LE(std::fabs(r - w), step * std::fabs(w) + 1e-7f);
    }
    EXPECT_GT(moved, 0);
    EXPECT_LT(moved, weight.size() / 5);
  }
}

TEST(RoundWithCompensation, ErrorsOfAChannelAddUpToAlmostNothing) {
  const NDArray weight = Random({32, 64, 3, 3}, 2),
                rounded = RoundWithCompensation(weight, {"", DType::kBFloat16, 0, 1});
  const NDArray nearest = ToNearest(weight, DType::kBFloat16);
  double before = 0, after = 0;
  for (std::int64_t c = 0; c < 32; ++c) {
    before += Drift(weight, nearest, c * 576, 576);
    after += Drift(weight, rounded, c * 576, 576);
    EXPECT_LE(Drift(weight, rounded, c * 576, 576), Drift(weight, nearest, c * 576, 576));
  }
  EXPECT_LT(after, before / 20);
}

// A deconvolution of two groups: weight (4, 3, 2), group g has the rows 2g and 2g + 1, and three channels.
TEST(RoundWithCompensation, ChannelsOnAnotherAxisInGroups) {
  const NDArray weight = Random({4, 3, 200}, 3);
  const NDArray rounded = RoundWithCompensation(weight, {"", DType::kBFloat16, 1, 2}),
                nearest = ToNearest(weight, DType::kBFloat16);
  double before = 0, after = 0;
  for (int group = 0; group < 2; ++group) {
    for (int c = 0; c < 3; ++c) {
      const auto drift = [&](const NDArray& array) {
        double sum = 0;
        for (int row = 2 * group; row < 2 * group + 2; ++row) {
          for (int i = 0; i < 200; ++i) {
            const std::int64_t at = (row * 3 + c) * 200 + i;
            sum += static_cast<double>(array.As<float>()[at]) - static_cast<double>(weight.As<float>()[at]);
          }
        }
        return std::fabs(sum);
      };
      before += drift(nearest);
      after += drift(rounded);
    }
  }
  EXPECT_LT(after, before / 20);
}

TEST(RoundWithCompensation, WhatCannotBeBetteredIsRoundedToNearest) {
  const NDArray single = Random({64, 1}, 4);
  EXPECT_TRUE(Equal(RoundWithCompensation(single, {"", DType::kBFloat16, 0, 1}), ToNearest(single, DType::kBFloat16)));
  NDArray odd = Random({4, 50}, 5);
  odd.As<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  odd.As<float>()[60] = std::numeric_limits<float>::infinity();
  odd.As<float>()[120] = std::numeric_limits<float>::max();  // rounds to infinity
  const NDArray rounded = RoundWithCompensation(odd, {"", DType::kBFloat16, 0, 1}),
                nearest = ToNearest(odd, DType::kBFloat16);
  EXPECT_EQ(std::memcmp(rounded.data(), nearest.data(), 150 * sizeof(float)), 0);
  EXPECT_NE(std::memcmp(rounded.As<float>() + 150, nearest.As<float>() + 150, 50 * sizeof(float)), 0);
  EXPECT_EQ(RoundWithCompensation(NDArray(DType::kFloat32, {0, 3}), {"", DType::kBFloat16, 0, 1}).size(), 0);
}

TEST(RoundWithCompensation, IsDeterministicAndIdempotent) {
  const NDArray weight = Random({16, 300}, 6), rounded = RoundWithCompensation(weight, {"", DType::kBFloat16, 0, 1});
  EXPECT_TRUE(Equal(RoundWithCompensation(weight, {"", DType::kBFloat16, 0, 1}), rounded));
  EXPECT_TRUE(Equal(RoundWithCompensation(rounded, {"", DType::kBFloat16, 0, 1}), rounded));
}

}  // namespace
}  // namespace amp
