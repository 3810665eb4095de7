#include "kernels/reduce/sort_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using Random = std::mt19937;

// NaN counts as the largest.
bool IsLess(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

SortRows DrawLines(Random& random) {
  constexpr ElementType kTypes[] = {ElementType::kFloat32, ElementType::kBFloat16, ElementType::kFloat16,
                                    ElementType::kInt32,   ElementType::kInt8,     ElementType::kUInt8};
  constexpr ElementType kPositionTypes[] = {ElementType::kFloat32, ElementType::kFloat64, ElementType::kInt32,
                                            ElementType::kInt64};
  SortRows work;
  work.type = kTypes[random() % std::size(kTypes)];
  work.outer = static_cast<std::int64_t>(1 + random() % 4);
  work.size = static_cast<std::int64_t>(1 + random() % (random() % 4 == 0 ? 3000 : 40));
  work.inner = static_cast<std::int64_t>(1 + random() % 3);
  work.chosen = random() % 2 == 0 ? work.size : static_cast<std::int64_t>(1 + random() % work.size);
  work.ascending = random() % 2 == 0;
  work.position_type = kPositionTypes[random() % std::size(kPositionTypes)];
  return work;
}

// Elements of all kinds, many of them equal.
std::vector<char> DrawSortable(Random& random, const SortRows& work) {
  const float special[] = {0.f, -0.f, INFINITY, -INFINITY, NAN, -NAN, 1e-40f, -1e-40f, 3e38f};
  std::vector<float> values(static_cast<std::size_t>(work.outer * work.size * work.inner));
  for (float& value : values) {
    value = static_cast<float>(static_cast<int>(random() % 61) - 30);
    if (random() % 3 == 0) value = value * 1e7f;
    if (random() % 8 == 0) value = special[random() % std::size(special)];
  }
  std::vector<char> bytes(values.size() * ElementBytes(work.type));
  Cast(ElementType::kFloat32, values.data(), work.type, bytes.data(), values.size());
  return bytes;
}

TEST(SortRows, ElementsAndPositionsAreThoseOfAStableSort) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const SortRows work = DrawLines(random);
    const std::size_t bytes = ElementBytes(work.type), position_bytes = ElementBytes(work.position_type);
    const auto lines = static_cast<std::size_t>(work.outer * work.inner);
    const Guarded<char> x(DrawSortable(random, work));
    std::vector<double> values(x.size() / bytes);
    Cast(work.type, x.data(), ElementType::kFloat64, values.data(), values.size());
    std::vector<char> elements(lines * static_cast<std::size_t>(work.chosen) * bytes);
    std::vector<std::int64_t> positions(elements.size() / bytes);
    for (std::int64_t line = 0; line < work.outer * work.inner; ++line) {
      const auto at = [&](std::int64_t i, std::int64_t size) {
        return static_cast<std::size_t>((line / work.inner * size + i) * work.inner + line % work.inner);
      };
      std::vector<std::int64_t> order(static_cast<std::size_t>(work.size));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        const double left = values[at(a, work.size)], right = values[at(b, work.size)];
        return work.ascending ? IsLess(left, right) : IsLess(right, left);
      });
      for (std::int64_t i = 0; i < work.chosen; ++i) {
        positions[at(i, work.chosen)] = order[i];
        std::memcpy(&elements[at(i, work.chosen) * bytes], x.data() + at(order[i], work.size) * bytes, bytes);
      }
    }
    std::vector<char> expected(positions.size() * position_bytes);
    Cast(ElementType::kInt64, positions.data(), work.position_type, expected.data(), positions.size());
    for (const int threads : {1, 2, 3}) {
      const ThreadScope scope(threads);
      const Guarded<std::uint64_t> scratch(work.ScratchBytes() / 8);
      const Guarded<char> y(elements.size()), where(expected.size());
      work.Run(x.data(), seed % 3 == 0 ? nullptr : y.data(), seed % 3 == 1 ? nullptr : where.data(), scratch.data());
      if (seed % 3 != 0) {
        ASSERT_EQ(y.values(), elements) << "seed " << seed;
      }
      if (seed % 3 != 1) {
        ASSERT_EQ(where.values(), expected) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace amp::kernels
