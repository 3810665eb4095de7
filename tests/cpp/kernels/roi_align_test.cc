#include "kernels/vision/roi_align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using Random = std::mt19937;

double BilinearAt(const float* plane, std::int64_t height, std::int64_t width, float y, float x) {
  if (!(y >= -1 && y <= static_cast<float>(height) && x >= -1 && x <= static_cast<float>(width))) return 0;
  y = std::clamp(y, 0.f, static_cast<float>(height - 1));
  x = std::clamp(x, 0.f, static_cast<float>(width - 1));
  const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x);
  const std::int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const double down = y - static_cast<float>(top), across = x - static_cast<float>(left);
  return (1 - down) * ((1 - across) * plane[top * width + left] + across * plane[top * width + right]) +
         down * ((1 - across) * plane[bottom * width + left] + across * plane[bottom * width + right]);
}

std::vector<double> AlignSlowly(const RoiAlign& work, const float* x, const float* rois) {
  const std::int64_t bins = work.bin_rows * work.bin_columns;
  const std::int64_t channels = work.position_sensitive ? work.channels / bins : work.channels;
  std::vector<double> y;
  for (const float* roi = rois; roi != rois + work.regions * 5; roi += 5) {
    const RoiBins rows(work, roi[2], roi[4], work.bin_rows, work.height);
    const RoiBins columns(work, roi[1], roi[3], work.bin_columns, work.width);
    for (std::int64_t i = 0; i < channels * bins; ++i) {
      const std::int64_t channel = work.position_sensitive ? i : i / bins;
      double sum = 0;
      for (std::int64_t a = 0; roi[0] >= 0 && a < rows.samples; ++a) {
        for (std::int64_t b = 0; b < columns.samples; ++b) {
          const std::int64_t plane = static_cast<std::int64_t>(roi[0]) * work.channels + channel;
          sum += BilinearAt(x + plane * work.height * work.width, work.height, work.width,
                            rows.At(i % bins / work.bin_columns, a), columns.At(i % work.bin_columns, b));
        }
      }
      y.push_back(sum / static_cast<double>(std::max<std::int64_t>(1, rows.samples * columns.samples)));
    }
  }
  return y;
}

RoiAlign DrawRoiAlign(Random& random) {
  const auto upto = [&](int most) { return static_cast<std::int64_t>(1 + random() % most); };
  RoiAlign work;
  work.bin_rows = upto(7);
  work.bin_columns = upto(7);
  work.position_sensitive = random() % 4 == 0;
  work.aligned = random() % 2 == 0;
  work.images = upto(3);
  work.channels = work.position_sensitive ? work.bin_rows * work.bin_columns * upto(3)
                  : random() % 4 == 0     ? 500 + upto(100)
                                          : upto(70);
  work.height = random() % 3 == 0 ? upto(60) : upto(9);
  work.width = upto(9);
  work.regions = static_cast<std::int64_t>(random() % 5);
  work.spatial_scale = random() % 2 == 0 ? 1.0f : 0.3f;
  work.sample_ratio = static_cast<std::int64_t>(random() % 4) - 1;
  if (random() % 8 == 0) work.sample_ratio = 40;
  return work;
}

TEST(RoiAlign, RegionsAreAveragesOfTheirSamples) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const RoiAlign work = DrawRoiAlign(random);
    std::normal_distribution<float> normal(0, 1);
    std::uniform_real_distribution<float> place(-5, 70);
    std::vector<float> values(static_cast<std::size_t>(work.images * work.channels * work.height * work.width));
    for (float& value : values) value = normal(random);
    std::vector<float> regions;
    for (std::int64_t i = 0; i < work.regions; ++i) {
      regions.push_back(static_cast<float>(static_cast<int>(random() % (work.images + 1)) - 1));
      for (int k = 0; k < 4; ++k) regions.push_back(place(random));
    }
    const Guarded<float> x(values), rois(regions);
    const std::vector<double> expected = AlignSlowly(work, x.data(), rois.data());
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      const ThreadScope scope(threads);
      const Guarded<char> scratch(work.ScratchBytes());
      const Guarded<float> y(expected.size());
      work.Run(x.data(), rois.data(), y.data(), scratch.data());
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(y.data()[i], expected[i], 4e-5) << "seed " << seed;
      if (first.empty()) first = y.values();
      ASSERT_EQ(y.values(), first);
    }
  }
}

}  // namespace
}  // namespace amp::kernels
