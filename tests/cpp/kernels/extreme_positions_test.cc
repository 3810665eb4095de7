#include "kernels/reduce/extreme_positions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using Random = std::mt19937;

// Draws a NaN now and then, and many equal elements.
template <class T>
T DrawElement(Random& random) {
  if (std::numeric_limits<T>::has_quiet_NaN && random() % 9 == 0) return std::numeric_limits<T>::quiet_NaN();
  return static_cast<T>(random() % 7);
}

template <class T>
void CheckPositions(ElementType type) {
  ASSERT_TRUE(ExtremePositions::IsType(type));
  for (unsigned seed = 0; seed < 60; ++seed) {
    Random random(seed);
    ExtremePositions work{type};
    work.outer = static_cast<std::int64_t>(1 + random() % 4);
    work.inner = random() % 2 == 0 ? 1 : static_cast<std::int64_t>(1 + random() % 1100);
    work.size = static_cast<std::int64_t>(1 + random() % (work.inner == 1 ? 300 : 9));
    work.largest = random() % 2 == 0;
    std::vector<T> values(static_cast<std::size_t>(work.outer * work.size * work.inner));
    for (T& value : values) value = DrawElement<T>(random);
    std::vector<std::int64_t> expected;
    for (std::int64_t line = 0; line < work.outer * work.inner; ++line) {
      const auto at = [&](std::int64_t i) {
        return values[static_cast<std::size_t>((line / work.inner * work.size + i) * work.inner + line % work.inner)];
      };
      std::int64_t found = 0;
      for (std::int64_t i = 1; i < work.size && at(found) == at(found); ++i) {
        if (at(i) != at(i) || (work.largest ? at(i) > at(found) : at(i) < at(found))) found = i;
      }
      expected.push_back(found);
    }
    const Guarded<T> x(values);
    for (const int threads : {1, 3}) {
      const ThreadScope scope(threads);
      const Guarded<std::int64_t> y(expected.size());
      work.Run(x.data(), y.data());
      ASSERT_EQ(y.values(), expected) << "seed " << seed;
    }
  }
}

TEST(ExtremePositions, AreTheFirstOnes) {
  CheckPositions<float>(ElementType::kFloat32);
  CheckPositions<double>(ElementType::kFloat64);
  CheckPositions<std::int8_t>(ElementType::kInt8);
  CheckPositions<std::uint8_t>(ElementType::kUInt8);
  CheckPositions<std::int32_t>(ElementType::kInt32);
  CheckPositions<std::int64_t>(ElementType::kInt64);
  EXPECT_FALSE(ExtremePositions::IsType(ElementType::kBFloat16));
}

}  // namespace
}  // namespace amp::kernels
