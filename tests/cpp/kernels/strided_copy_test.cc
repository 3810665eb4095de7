#include "kernels/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/parallel.h"

namespace amp::kernels {
namespace {

struct TestAxis {
  std::int64_t size, from, to;
};

// Axes of random sizes in a random order on each side, with gaps now and then.
std::vector<TestAxis> DrawAxes(std::mt19937& random, std::int64_t* from_size, std::int64_t* to_size) {
  std::vector<TestAxis> axes(1 + random() % 5);
  for (TestAxis& axis : axes) axis.size = 1 + random() % 5;
  for (int i = 0; i < 2; ++i) {
    if (random() % 2 == 0) axes[random() % axes.size()].size = 1 + random() % 99;
  }
  std::vector<std::size_t> order(axes.size());
  std::iota(order.begin(), order.end(), 0);
  for (const bool is_from : {true, false}) {
    if (random() % 3 != 0) std::shuffle(order.begin(), order.end(), random);
    std::int64_t stride = random() % 4 == 0 ? 2 : 1;
    for (const std::size_t i : order) {
      (is_from ? axes[i].from : axes[i].to) = stride;
      stride *= axes[i].size + (random() % 4 == 0 ? 1 : 0);
    }
    *(is_from ? from_size : to_size) = stride;
  }
  return axes;
}

// Element by element.
void CopySlowly(const std::vector<TestAxis>& axes, std::size_t axis, const std::uint16_t* from, std::uint16_t* to) {
  if (axis == axes.size()) {
    *to = *from;
    return;
  }
  for (std::int64_t i = 0; i < axes[axis].size; ++i) {
    CopySlowly(axes, axis + 1, from + i * axes[axis].from, to + i * axes[axis].to);
  }
}

TEST(StridedCopy, MovesEachElementToItsPlaceAndTouchesNothingElse) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::int64_t from_size = 0, to_size = 0;
    const std::vector<TestAxis> axes = DrawAxes(random, &from_size, &to_size);
    std::vector<std::uint16_t> from(static_cast<std::size_t>(from_size));
    std::iota(from.begin(), from.end(), std::uint16_t{0});  // denormals and NaN among them
    std::vector<std::uint16_t> expected(static_cast<std::size_t>(to_size), 0xABCD), actual = expected;
    CopySlowly(axes, 0, from.data(), expected.data());
    StridedCopy copy;
    for (const TestAxis& axis : axes) copy.AddAxis(axis.size, axis.from, axis.to);
    copy.Prepare();
    const ThreadScope threads(seed % 2 == 0 ? 1 : 3);
    copy.Run(from.data(), actual.data());
    ASSERT_EQ(expected, actual) << "seed " << seed;
  }
}

TEST(StridedCopy, NoElementsAndOneElement) {
  const std::uint16_t from = 7;
  std::uint16_t to = 1;
  StridedCopy none;
  none.AddAxis(0, 1, 1);
  none.AddAxis(3, 1, 1);
  none.Prepare();
  none.Run(&from, &to);
  EXPECT_EQ(to, 1);
  StridedCopy one;
  one.Prepare();
  one.Run(&from, &to);
  EXPECT_EQ(to, 7);
}

}  // namespace
}  // namespace amp::kernels
