#include "program/compensated_rounding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

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
// Widened again.
NDArray Rounded(const NDArray& weight, const FoldedWeight& how) {
  return CastArray(RoundWithCompensation(weight, how), DType::kFloat32);
}
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
    const NDArray weight = Random({8, 16, 3, 3}, 1), rounded = Rounded(weight, {"", target, 0, 1});
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
  const NDArray weight = Random({32, 64, 3, 3}, 2), rounded = Rounded(weight, {"", DType::kBFloat16, 0, 1});
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
  const NDArray rounded = Rounded(weight, {"", DType::kBFloat16, 1, 2}), nearest = ToNearest(weight, DType::kBFloat16);
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
  EXPECT_TRUE(Equal(Rounded(single, {"", DType::kBFloat16, 0, 1}), ToNearest(single, DType::kBFloat16)));
  NDArray odd = Random({4, 50}, 5);
  odd.As<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  odd.As<float>()[60] = std::numeric_limits<float>::infinity();
  odd.As<float>()[120] = std::numeric_limits<float>::max();  // rounds to infinity
  const NDArray rounded = Rounded(odd, {"", DType::kBFloat16, 0, 1}), nearest = ToNearest(odd, DType::kBFloat16);
  EXPECT_EQ(std::memcmp(rounded.data(), nearest.data(), 150 * sizeof(float)), 0);
  EXPECT_NE(std::memcmp(rounded.As<float>() + 150, nearest.As<float>() + 150, 50 * sizeof(float)), 0);
  EXPECT_EQ(Rounded(NDArray(DType::kFloat32, {0, 3}), {"", DType::kBFloat16, 0, 1}).size(), 0);
}

// The algorithm as it is described: all candidates of a channel in order. `weight` has its channels on axis 0.
NDArray RoundedInOrder(const NDArray& weight, DType target) {
  NDArray rounded = ToNearest(weight, target), codes = CastArray(weight, target);
  const std::int64_t channels = weight.shape()[0], count = weight.size() / channels;
  const auto value = [&](const NDArray& array, std::int64_t i) { return static_cast<double>(array.As<float>()[i]); };
  for (std::int64_t i = 0; i < weight.size(); ++i) {
    std::uint16_t& code = codes.As<std::uint16_t>()[i];
    const bool grows = std::fabs(value(weight, i)) > std::fabs(value(rounded, i));
    if ((code & 0x7fff) != 0) code = static_cast<std::uint16_t>(grows ? code + 1 : code - 1);
  }
  const NDArray farther = CastArray(codes, DType::kFloat32);
  for (std::int64_t first = 0; first < weight.size(); first += count) {
    double drift = 0;
    for (std::int64_t i = first; i < first + count; ++i) drift += value(weight, i) - value(rounded, i);
    std::vector<std::tuple<double, std::int64_t, double>> order;
    for (std::int64_t i = first; i < first + count; ++i) {
      const double error = value(weight, i) - value(rounded, i), step = value(farther, i) - value(rounded, i);
      if (error * drift > 0 && step != 0) order.emplace_back(-error / step, i, step);
    }
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), static_cast<std::size_t>(4 * std::sqrt(static_cast<double>(count)) + 16)));
    for (const auto& [closeness, i, step] : order) {
      if (std::fabs(step) > std::fabs(drift)) continue;
      rounded.As<float>()[i] = farther.As<float>()[i];
      drift -= step;
    }
  }
  return rounded;
}

TEST(RoundWithCompensation, TakesTheClosestInOrder) {
  for (const DType target : {DType::kBFloat16, DType::kFloat16}) {
    std::uint32_t seed = 10;
    for (const Shape& shape : {Shape{3, 2}, Shape{5, 40}, Shape{4, 300}, Shape{3, 64, 3, 3}, Shape{2, 9000}}) {
      const NDArray weight = Random(shape, ++seed);
      EXPECT_TRUE(Equal(Rounded(weight, {"", target, 0, 1}), RoundedInOrder(weight, target))) << shape.ToString();
    }
    // Errors that are not spread evenly: a channel whose numbers are all equal, and one with few that move.
    NDArray odd = Random({2, 2000}, 30);
    for (int i = 0; i < 2000; ++i) odd.As<float>()[i] = 0.1001f;
    for (int i = 2010; i < 4000; ++i) odd.As<float>()[i] = 0.5f;
    EXPECT_TRUE(Equal(Rounded(odd, {"", target, 0, 1}), RoundedInOrder(odd, target)));
  }
}

TEST(RoundWithCompensation, IsDeterministicAndIdempotent) {
  const NDArray weight = Random({16, 300}, 6), rounded = Rounded(weight, {"", DType::kBFloat16, 0, 1});
  EXPECT_TRUE(Equal(Rounded(weight, {"", DType::kBFloat16, 0, 1}), rounded));
  EXPECT_TRUE(Equal(Rounded(rounded, {"", DType::kBFloat16, 0, 1}), rounded));
}

}  // namespace
}  // namespace amp
