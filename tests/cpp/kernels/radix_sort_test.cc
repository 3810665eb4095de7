#include "kernels/reduce/radix_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/guarded.h"

namespace amp::kernels {
namespace {

// Upper halves of many or few different values; lower halves ascend.
std::vector<std::uint64_t> DrawEntries(std::mt19937& random, std::size_t count) {
  const std::uint32_t mask = random() % 3 == 0 ? 0xFFFFFFFFu : random() % 2 == 0 ? 0xFFu : 0xFFC00000u;
  const std::uint32_t base = random() % 2 == 0 ? 0 : static_cast<std::uint32_t>(random());
  std::vector<std::uint64_t> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    entries.push_back(std::uint64_t{base ^ (static_cast<std::uint32_t>(random()) & mask)} << 32 | i);
  }
  return entries;
}

TEST(RadixSort, SortsByUpperHalves) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const std::vector<std::uint64_t> values = DrawEntries(random, random() % 3000);
    std::vector<std::uint64_t> expected = values;
    std::sort(expected.begin(), expected.end());
    const Guarded<std::uint64_t> entries(values), spare(values.size());
    SortByUpperHalf(entries.data(), spare.data(), static_cast<std::int64_t>(values.size()));
    ASSERT_EQ(entries.values(), expected) << "seed " << seed;
  }
}

TEST(RadixSort, KeepsTheSmallest) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::vector<std::uint64_t> values = DrawEntries(random, 1 + random() % 9000);
    const std::size_t chosen = 1 + random() % std::min<std::size_t>(values.size(), seed % 2 == 0 ? 9000 : 300);
    std::vector<std::uint64_t> smallest = values;
    std::sort(smallest.begin(), smallest.end());
    smallest.resize(chosen);
    const Guarded<std::uint64_t> entries(values);
    const auto kept =
        KeepSmallest(entries.data(), static_cast<std::int64_t>(values.size()), static_cast<std::int64_t>(chosen));
    std::vector<std::uint64_t> stay(entries.data(), entries.data() + kept);
    ASSERT_TRUE(std::is_sorted(stay.begin(), stay.end(),
                               [](std::uint64_t a, std::uint64_t b) { return (a & 0xFFFFFFFF) < (b & 0xFFFFFFFF); }));
    std::sort(stay.begin(), stay.end());
    ASSERT_GE(stay.size(), chosen);
    stay.resize(chosen);
    ASSERT_EQ(stay, smallest) << "seed " << seed;
  }
}

}  // namespace
}  // namespace amp::kernels
