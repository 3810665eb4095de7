#include "passes/optimize/causal_mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace amp {
namespace {

using Offset = std::optional<std::int64_t>;

Sight Bit(double element) { return element != 0 ? Sight::kSeen : Sight::kHidden; }

Offset OfMask(const std::vector<double>& mask, const Shape& shape, const Shape& scores) {
  return RowOffsetOfMask(mask, shape, scores, Bit);
}

// For each of `heads`: query i sees key j where j <= i + offset.
std::vector<double> CausalMask(std::int64_t heads, std::int64_t queries, std::int64_t keys, std::int64_t offset) {
  std::vector<double> mask;
  for (std::int64_t i = 0; i < heads * queries * keys; ++i) {
    mask.push_back(i % keys <= i / keys % queries + offset ? 1 : 0);
  }
  return mask;
}

TEST(CausalMask, AnyOffsetThatLetsEachQuerySeeAKey) {
  const Shape scores{2, 3, 4, 6}, mask{1, 3, 4, 6};
  for (std::int64_t offset = 0; offset < 5; ++offset)
    EXPECT_EQ(OfMask(CausalMask(3, 4, 6, offset), mask, scores), offset);
  EXPECT_EQ(OfMask(CausalMask(3, 4, 6, 5), mask, scores), kSeesAll);
  EXPECT_EQ(OfMask(CausalMask(3, 4, 6, -1), mask, scores), std::nullopt);
}

TEST(CausalMask, OneElementMakesAnotherMask) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t heads = random() % 2 + 2, queries = random() % 5 + 2, keys = random() % 6 + 2;
    std::vector<double> mask = CausalMask(heads, queries, keys, static_cast<std::int64_t>(random() % keys));
    const Shape shape{heads, queries, keys};
    ASSERT_NE(OfMask(mask, shape, shape), std::nullopt);
    double& element = mask[random() % mask.size()];
    element = 1 - element;
    EXPECT_EQ(OfMask(mask, shape, shape), std::nullopt);
  }
}

TEST(CausalMask, AxesOfSizeOneStandForAll) {
  const Shape scores{2, 3, 4};
  EXPECT_EQ(OfMask(CausalMask(1, 3, 4, 1), {3, 4}, scores), 1);
  EXPECT_EQ(OfMask({1, 1, 1, 1}, {1, 4}, scores), kSeesAll);
  EXPECT_EQ(OfMask({1, 1, 1}, {3, 1}, scores), kSeesAll);
  EXPECT_EQ(OfMask({1, 1, 1, 0}, {1, 4}, scores), std::nullopt);  // all rows alike
  EXPECT_EQ(OfMask({1, 1, 0}, {3, 1}, scores), std::nullopt);
  EXPECT_EQ(OfMask({1, 1, 0, 0}, {1, 4}, {2, 1, 4}), 1);  // one row
  EXPECT_EQ(OfMask({1, 1, 1, 1}, {4}, scores), std::nullopt);
  EXPECT_EQ(OfMask({}, {0, 4}, {2, 0, 4}), std::nullopt);
}

TEST(CausalMask, ElementsThatSayNeither) {
  const auto sight = [](double element) { return element == 2 ? Sight::kNeither : Bit(element); };
  std::vector<double> mask = CausalMask(1, 3, 3, 0);
  EXPECT_EQ(RowOffsetOfMask(mask, {3, 3}, {3, 3}, sight), 0);
  mask[1] = 2;
  EXPECT_EQ(RowOffsetOfMask(mask, {3, 3}, {3, 3}, sight), std::nullopt);
}

TEST(CausalMask, Lengths) {
  const auto of = [](const std::vector<double>& lengths) { return RowOffsetOfLengths(lengths, {2, 3, 4}); };
  EXPECT_EQ(of({1, 2, 3, 1, 2, 3}), 0);
  EXPECT_EQ(of({3, 4, 5, 3, 4, 4}), 2);  // there are but 4 keys
  EXPECT_EQ(of({4, 4, 4, 9, 4, 4}), kSeesAll);
  EXPECT_EQ(of({1, 2, 3, 1, 2, 2}), std::nullopt);
  EXPECT_EQ(of({0, 1, 2, 0, 1, 2}), std::nullopt);
  EXPECT_EQ(of({1, 2.5, 3, 1, 2.5, 3}), std::nullopt);
}

}  // namespace
}  // namespace amp
