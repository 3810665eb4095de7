#include "kernels/movement/pad.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr PadMode kModes[] = {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect, PadMode::kSymmetric};

// One step after the other, turning round at the ends.
std::int64_t Walk(PadMode mode, std::int64_t i, std::int64_t size) {
  if (i >= 0 && i < size) return i;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge || size == 1) return i < 0 ? 0 : size - 1;
  std::int64_t position = i < 0 ? 0 : size - 1, step = i < 0 ? 1 : -1;
  const std::int64_t left = i < 0 ? -i : i - size + 1;
  bool stays = mode == PadMode::kSymmetric;
  for (std::int64_t k = 0; k < left; ++k) {
    if (stays) {
      stays = false;
      continue;
    }
    position += step;
    if ((position == 0 && step < 0) || (position == size - 1 && step > 0)) {
      step = -step;
      stays = mode == PadMode::kSymmetric;
    }
  }
  return position;
}

TEST(Pad, ShowsPositionsThereAndBack) {
  for (const PadMode mode : kModes) {
    for (std::int64_t size = 1; size < 6; ++size) {
      for (std::int64_t i = -17; i < 20; ++i) {
        EXPECT_EQ(ShownPosition(mode, i, size), Walk(mode, i, size)) << i << " of " << size;
      }
    }
  }
}

template <class T>
std::vector<T> PadSlowly(PadMode mode, const std::vector<PadAxis>& axes, const std::vector<T>& x, T constant) {
  std::vector<T> y;
  std::vector<std::int64_t> index(axes.size(), 0);
  std::int64_t count = 1;
  for (const PadAxis& axis : axes) count *= axis.before + axis.size + axis.after;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = 0, rest = i, stride = 1;
    for (std::size_t a = axes.size(); a-- > 0;) {
      const std::int64_t size = axes[a].before + axes[a].size + axes[a].after;
      const std::int64_t shown = Walk(mode, rest % size - axes[a].before, axes[a].size);
      place = shown < 0 || place < 0 ? -1 : place + shown * stride;
      stride *= axes[a].size;
      rest /= size;
    }
    y.push_back(place < 0 ? constant : x[static_cast<std::size_t>(place)]);
  }
  return y;
}

template <class T>
void ExpectPads(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<PadAxis> axes(random() % 6);
  std::size_t count = 1;
  for (PadAxis& axis : axes) {
    axis.size = 1 + random() % (random() % 4 == 0 ? 40 : 5);
    if (random() % 2 == 0) {
      axis.before = random() % 4;
      axis.after = random() % 4;
    }
    count *= static_cast<std::size_t>(axis.size);
  }
  std::vector<T> x(count);
  for (T& value : x) value = static_cast<T>(random() * std::uint64_t{0x10003});
  const PadMode mode = kModes[random() % 4];
  const T constant = static_cast<T>(0x0102030405060708);
  const std::vector<T> expected = PadSlowly(mode, axes, x, constant);
  const Pad pad(mode, axes, sizeof(T), constant);
  const Guarded<T> from(x);
  for (const int threads : {1, 2, 3}) {
    const Guarded<T> actual(expected.size());
    const ThreadScope scope(threads);
    pad.Run(from.data(), actual.data());
    ASSERT_EQ(expected, actual.values()) << "seed " << seed << ", " << sizeof(T) << " bytes, " << threads << " threads";
  }
}

TEST(Pad, IsThatOfAnObviousLoop) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    ExpectPads<std::uint8_t>(seed);
    ExpectPads<std::uint16_t>(seed);
    ExpectPads<std::uint32_t>(seed);
    ExpectPads<std::uint64_t>(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Pad, BordersOfNothing) {
  const Pad pad(PadMode::kConstant, {{0, 1, 2}, {2, 0, 0}}, 2, 7);
  std::vector<std::uint16_t> y(6);
  pad.Run(nullptr, y.data());
  EXPECT_EQ(y, std::vector<std::uint16_t>(6, 7));
}

}  // namespace
}  // namespace amp::kernels
