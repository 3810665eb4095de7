#include "kernels/movement/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

struct CopyAxis {
  std::int64_t size, from, to;
};

// Where elements lie from the first one on: so many before and behind it.
struct Extent {
  std::int64_t before = 0, behind = 0;
  std::size_t size() const { return static_cast<std::size_t>(before + behind + 1); }
};

template <class Stride>
Extent ExtentOf(const std::vector<CopyAxis>& axes, Stride stride) {
  Extent extent;
  for (const CopyAxis& axis : axes) {
    const std::int64_t reach = (axis.size - 1) * stride(axis);
    (reach < 0 ? extent.before : extent.behind) += std::abs(reach);
  }
  return extent;
}

// Axes of random sizes in a random order on each side, with gaps now and then, some repeated and some reversed.
std::vector<CopyAxis> DrawCopyAxes(std::mt19937& random) {
  std::vector<CopyAxis> axes(1 + random() % 5);
  for (CopyAxis& axis : axes) axis.size = 1 + random() % 5;
  for (int i = 0; i < 2; ++i) {
    if (random() % 2 == 0) axes[random() % axes.size()].size = 1 + random() % 99;
  }
  std::vector<std::size_t> order(axes.size());
  std::iota(order.begin(), order.end(), 0);
  for (const bool is_from : {true, false}) {
    if (random() % 3 != 0) std::shuffle(order.begin(), order.end(), random);
    std::int64_t stride = random() % 4 == 0 ? 2 : 1;
    for (const std::size_t i : order) {
      const bool is_repeated = is_from && random() % 5 == 0;
      (is_from ? axes[i].from : axes[i].to) = is_repeated ? 0 : stride;
      if (is_repeated) continue;
      if (is_from && random() % 5 == 0) axes[i].from = -stride;
      stride *= axes[i].size + (random() % 4 == 0 ? 1 : 0);
    }
  }
  return axes;
}

// Element by element.
template <class T>
void CopySlowly(const std::vector<CopyAxis>& axes, std::size_t axis, const T* from, T* to) {
  if (axis == axes.size()) {
    *to = *from;
    return;
  }
  for (std::int64_t i = 0; i < axes[axis].size; ++i) {
    CopySlowly(axes, axis + 1, from + i * axes[axis].from, to + i * axes[axis].to);
  }
}

template <class T>
void ExpectCopies(unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<CopyAxis> axes = DrawCopyAxes(random);
  const Extent from_extent = ExtentOf(axes, [](const CopyAxis& axis) { return axis.from; });
  const Extent to_extent = ExtentOf(axes, [](const CopyAxis& axis) { return axis.to; });
  const Guarded<T> from(from_extent.size());
  for (std::size_t i = 0; i < from.size(); ++i) from.data()[i] = static_cast<T>(random() * std::uint64_t{0x10003});
  std::vector<T> expected(to_extent.size(), static_cast<T>(0xABCD));
  const std::vector<T> before = expected;
  const T* first = from.data() + from_extent.before;
  CopySlowly(axes, 0, first, expected.data());
  StridedCopy copy(sizeof(T));
  for (const CopyAxis& axis : axes) copy.AddAxis(axis.size, axis.from, axis.to);
  copy.Prepare();
  for (const int threads : {1, 2, 3}) {
    const Guarded<T> actual(before);
    const ThreadScope scope(threads);
    copy.Run(first, actual.data());
    ASSERT_EQ(expected, actual.values()) << "seed " << seed << ", " << sizeof(T) << " bytes, " << threads << " threads";
  }
}

TEST(StridedCopy, MovesEachElementToItsPlaceAndTouchesNothingElse) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    ExpectCopies<std::uint8_t>(seed);
    ExpectCopies<std::uint16_t>(seed);
    ExpectCopies<std::uint32_t>(seed);
    ExpectCopies<std::uint64_t>(seed);
    if (HasFatalFailure()) return;
  }
}

// Large enough for several blocks along each of the axes.
TEST(StridedCopy, LongRowsAreShared) {
  constexpr std::int64_t kSize = 100003;
  std::vector<std::uint32_t> from(kSize), to(2 * kSize);
  std::iota(from.begin(), from.end(), 0U);
  StridedCopy copy(4);
  copy.AddAxis(2, 0, kSize);
  copy.AddAxis(kSize, -1, 1);
  copy.Prepare();
  const ThreadScope scope(3);
  copy.Run(from.data() + kSize - 1, to.data());
  for (std::int64_t i = 0; i < 2 * kSize; ++i) ASSERT_EQ(to[i], kSize - 1 - i % kSize);
}

TEST(StridedCopy, NoElementsAndOneElement) {
  const std::uint16_t from = 7;
  std::uint16_t to = 1;
  StridedCopy none(2);
  none.AddAxis(0, 1, 1);
  none.AddAxis(3, 1, 1);
  none.Prepare();
  none.Run(&from, &to);
  EXPECT_EQ(to, 1);
  StridedCopy one(2);
  one.Prepare();
  one.Run(&from, &to);
  EXPECT_EQ(to, 7);
}

}  // namespace
}  // namespace amp::kernels
