#include "kernels/vision/grid_sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/float_arrays.h"
#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using testing::NormalFloats;
using Random = std::mt19937;

double InterpolatedAt(const float* plane, const GridSample& work, double across, double down) {
  const double left = std::floor(across), top = std::floor(down);
  double sum = 0;
  for (const double row : {top, top + 1}) {
    for (const double column : {left, left + 1}) {
      if (!(row >= 0 && row < static_cast<double>(work.height))) continue;
      if (!(column >= 0 && column < static_cast<double>(work.width))) continue;
      const double weight = (1 - std::abs(down - row)) * (1 - std::abs(across - column));
      sum += weight * plane[static_cast<std::int64_t>(row) * work.width + static_cast<std::int64_t>(column)];
    }
  }
  return sum;
}

TEST(GridSample, InterpolatesAndIsZeroOutside) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const auto upto = [&](unsigned most) { return static_cast<std::int64_t>(1 + random() % most); };
    const GridSample work{upto(3), upto(5), upto(9), upto(9), seed % 4 == 0 ? upto(700) : upto(20)};
    const std::vector<float> values = NormalFloats(random, work.images * work.channels * work.height * work.width, 1);
    const std::vector<float> positions = NormalFloats(random, work.images * 2 * work.places, 0.8f);
    const Guarded<float> x(values), grid(positions);
    std::vector<float> first;
    for (const int threads : {1, 3}) {
      const ThreadScope scope(threads);
      const Guarded<float> y(static_cast<std::size_t>(work.images * work.channels * work.places));
      work.Run(x.data(), grid.data(), y.data());
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
        const std::int64_t plane = i / work.places, place = i % work.places;
        const float* at = positions.data() + plane / work.channels * 2 * work.places + place;
        const double across = (at[0] + 1.0) * static_cast<double>(work.width - 1) / 2;
        const double down = (at[work.places] + 1.0) * static_cast<double>(work.height - 1) / 2;
        ASSERT_NEAR(y.data()[i], InterpolatedAt(values.data() + plane * work.height * work.width, work, across, down),
                    5e-5)
            << "seed " << seed;
      }
      if (first.empty()) first = y.values();
      ASSERT_EQ(y.values(), first);
    }
  }
}

TEST(GridSample, NeverReadsOutside) {
  const GridSample work{1, 1, 2, 2, 6};
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Guarded<float> x(std::vector<float>{1, 2, 3, 4});
  const Guarded<float> grid(std::vector<float>{inf, -inf, nan, 1e30f, -1e30f, 0, 0, 0, 0, 0, 0, nan});
  const Guarded<float> y(6);
  work.Run(x.data(), grid.data(), y.data());
}

TEST(AffineGrid, MapsPositions) {
  const AffineGrid work{2, 3, 5};
  Random random(1);
  const std::vector<float> values = NormalFloats(random, 12, 1);
  const Guarded<float> matrices(values), grids(60);
  work.Run(matrices.data(), grids.data());
  for (std::int64_t i = 0; i < 60; ++i) {
    const float* row = values.data() + i / 15 * 3;
    const double across = static_cast<double>(i % 5) / 2 - 1, down = static_cast<double>(i / 5 % 3) - 1;
    ASSERT_NEAR(grids.data()[i], row[0] * across + row[1] * down + row[2], 1e-5);
  }
}

TEST(WarpGrid, AddsDisplacements) {
  const WarpGrid work{2, 3, 5};
  Random random(1);
  const std::vector<float> values = NormalFloats(random, 60, 1);
  const Guarded<float> displacements(values), grids(60);
  work.Run(displacements.data(), grids.data());
  for (std::int64_t i = 0; i < 60; ++i) {
    const bool goes_down = i / 15 % 2 == 1;
    const double from = static_cast<double>(goes_down ? i / 5 % 3 : i % 5);
    ASSERT_NEAR(grids.data()[i], (values[static_cast<std::size_t>(i)] + from) / (goes_down ? 1 : 2) - 1, 1e-5);
  }
}

}  // namespace
}  // namespace amp::kernels
