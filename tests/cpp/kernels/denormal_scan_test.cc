#include "kernels/reduce/denormal_scan.h"

#include <gtest/gtest.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "kernels/base/float_bits.h"
#include "kernels/base/float_mode.h"
#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using Random = std::mt19937;

// Powers of two from far below float32's normal numbers to 1, and zeros.
std::uint16_t DrawPower(Random& random, int share_of_zeros) {
  if (static_cast<int>(random() % 10) < share_of_zeros) return 0;
  const auto exponent = static_cast<Magnitude>(random() % 127);
  return static_cast<std::uint16_t>((random() % 2 << 15) | exponent << 7 | (1 + random() % 127));
}

struct ScanAxis {
  std::int64_t size, stride;
  bool is_summed;
};

// Axes of a dense tensor in a random order of memory, some of them with gaps.
std::vector<ScanAxis> DrawScanAxes(Random& random) {
  std::vector<ScanAxis> axes(1 + random() % 4);
  std::int64_t stride = 1;
  for (ScanAxis& axis : axes) {
    axis = {static_cast<std::int64_t>(1 + random() % 90 / axes.size()), stride, random() % 2 == 0};
    stride *= axis.size + static_cast<std::int64_t>(random() % 5 == 0);
  }
  std::shuffle(axes.begin(), axes.end(), random);
  return axes;
}

// Calls visit(offset, row) for all elements.
template <class Visit>
void ForElements(const std::vector<ScanAxis>& axes, const Visit& visit) {
  std::vector<std::int64_t> index(axes.size());
  for (;;) {
    std::int64_t offset = 0, row = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      offset += index[i] * axes[i].stride;
      row = row * axes[i].size + (axes[i].is_summed ? 0 : index[i]);
    }
    visit(offset, row);
    std::size_t i = 0;
    for (; i < axes.size() && ++index[i] == axes[i].size; ++i) index[i] = 0;
    if (i == axes.size()) return;
  }
}

TEST(RowScan, FindsTheRowThatReachesLeast) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const std::vector<ScanAxis> axes = DrawScanAxes(random);
    std::int64_t extent = 1;
    for (const ScanAxis& axis : axes) extent += (axis.size - 1) * axis.stride;
    Guarded<std::uint16_t> data(static_cast<std::size_t>(extent));
    const int share_of_zeros = static_cast<int>(random() % 11);
    for (std::size_t i = 0; i < data.size(); ++i) data.data()[i] = DrawPower(random, share_of_zeros);

    std::map<std::int64_t, Magnitude> largest;
    RowScan scan;
    for (const ScanAxis& axis : axes) scan.AddAxis(axis.size, axis.stride, axis.is_summed);
    scan.Prepare();
    ForElements(axes, [&](std::int64_t offset, std::int64_t row) {
      largest[row] = std::max<Magnitude>(largest[row], data.data()[offset] & kMagnitudeMask);
    });
    Magnitude least = kInfiniteMagnitude;
    for (const auto& [row, magnitude] : largest)
      least = std::min(least, magnitude == 0 ? kInfiniteMagnitude : magnitude);

    EXPECT_EQ(scan.Run(data.data(), kMagnitudeMask), least);
    const ThreadScope two(2);
    const auto enough = static_cast<Magnitude>((1 + random() % 126) << 7);
    const Magnitude bound = scan.Run(data.data(), enough);
    EXPECT_LE(bound, least);
    EXPECT_GE(bound, std::min(least, enough));
  }
}

TEST(RowScan, OfNothingIsInfinite) {
  RowScan scan;
  scan.AddAxis(3, 0, true);
  scan.AddAxis(0, 1, false);
  scan.Prepare();
  EXPECT_EQ(scan.Run(nullptr, 1), kInfiniteMagnitude);
}

TEST(Magnitudes, AreTheExtremes) {
  Random random(2);
  for (const std::size_t count : {std::size_t{1}, std::size_t{33}, std::size_t{40000}}) {
    Guarded<std::uint16_t> data(count);
    Magnitude largest = 0, smallest = kInfiniteMagnitude;
    for (std::size_t i = 0; i < count; ++i) {
      data.data()[i] = DrawPower(random, 2);
      const Magnitude x = data.data()[i] & kMagnitudeMask;
      largest = std::max(largest, x);
      if (x != 0) smallest = std::min(smallest, x);
    }
    const Magnitudes found = MagnitudesOf(data.data(), count);
    EXPECT_EQ(found.largest, largest);
    EXPECT_EQ(found.smallest, smallest);
  }
}

TEST(Scaling, IsExactUpAndRoundsOnceDown) {
  Random random(3);
  const std::size_t count = 20000;
  Guarded<std::uint16_t> data(count), scaled(count);
  Guarded<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) data.data()[i] = DrawPower(random, 1);
  for (const int exponent : {0, 1, 60, 126, 187}) {
    for (std::size_t i = 0; i < count; ++i) {
      if (exponent > 120 && (data.data()[i] & kMagnitudeMask) > 50 << 7) data.data()[i] = kLeastNormal;
    }
    ScaleUp(data.data(), scaled.data(), count, exponent);
    for (std::size_t i = 0; i < count; ++i) {
      const double expected = std::ldexp(static_cast<double>(BF16ToFloat(data.data()[i])), exponent);
      ASSERT_EQ(static_cast<double>(BF16ToFloat(scaled.data()[i])), expected);
      numbers.data()[i] = BF16ToFloat(scaled.data()[i]) * 1.2345f;
    }
    std::vector<float> before(numbers.data(), numbers.data() + count);
    ScaleDown(numbers.data(), count, exponent);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(numbers.data()[i], static_cast<float>(std::ldexp(static_cast<double>(before[i]), -exponent)));
    }
  }
}

#if defined(__SSE2__)
TEST(FloatMode, HelpersComputeInTheCallersMode) {
  const ThreadScope threads(2);
  const unsigned before = _mm_getcsr();
  for (const bool flushes : {true, false}) {
    _mm_setcsr(flushes ? before | 0x8040 : before & ~0x8040u);
    std::atomic<int> others{0};
    ParallelFor(1000, 1, [&](std::int64_t) {
      if (((_mm_getcsr() & 0x8040) != 0) != flushes) ++others;
    });
    EXPECT_EQ(others, 0);
  }
  _mm_setcsr(before | 0x8040);
  {
    const FloatModeScope scope;
    EXPECT_EQ(_mm_getcsr() & 0x8040, 0u);
  }
  EXPECT_EQ(_mm_getcsr() & 0x8040, 0x8040u);
  _mm_setcsr(before);
}
#endif

}  // namespace
}  // namespace amp::kernels
