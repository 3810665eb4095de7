#include "kernels/vision/roi_pooling.h"

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

std::vector<float> PoolSlowly(const RoiPooling& work, const float* x, const float* rois) {
  std::vector<float> y;
  for (const float* roi = rois; roi != rois + work.regions * 5; roi += 5) {
    for (std::int64_t c = 0; c < work.channels; ++c) {
      const std::int64_t plane = static_cast<std::int64_t>(roi[0]) * work.channels + c;
      for (std::int64_t bin = 0; bin < work.bin_rows * work.bin_columns; ++bin) {
        const auto down = work.SpanOf(roi[2], roi[4], bin / work.bin_columns, work.bin_rows, work.height);
        const auto across = work.SpanOf(roi[1], roi[3], bin % work.bin_columns, work.bin_columns, work.width);
        const bool is_empty = roi[0] < 0 || down.end <= down.begin || across.end <= across.begin;
        float largest = is_empty ? 0 : std::numeric_limits<float>::lowest();
        for (std::int64_t i = down.begin; !is_empty && i < down.end; ++i) {
          for (std::int64_t j = across.begin; j < across.end; ++j) {
            largest = std::max(largest, x[(plane * work.height + i) * work.width + j]);
          }
        }
        y.push_back(largest);
      }
    }
  }
  return y;
}

TEST(RoiPooling, BinsHoldTheirLargestElements) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const auto upto = [&](unsigned most) { return static_cast<std::int64_t>(1 + random() % most); };
    RoiPooling work{upto(3), seed % 5 == 0 ? 200 + upto(100) : upto(40), upto(9), upto(9), upto(4), upto(7), upto(7)};
    work.spatial_scale = random() % 2 == 0 ? 1.0f : 0.3f;
    std::normal_distribution<float> normal(0, 1);
    std::uniform_real_distribution<float> place(-5, 30);
    std::vector<float> values(static_cast<std::size_t>(work.images * work.channels * work.height * work.width));
    for (float& value : values) value = normal(random);
    std::vector<float> regions;
    for (std::int64_t i = 0; i < work.regions; ++i) {
      regions.push_back(static_cast<float>(static_cast<int>(random() % (work.images + 1)) - 1));
      for (int k = 0; k < 4; ++k) regions.push_back(random() % 20 == 0 ? 1e30f : place(random));
    }
    const Guarded<float> x(values), rois(regions);
    const std::vector<float> expected = PoolSlowly(work, x.data(), rois.data());
    for (const int threads : {1, 3}) {
      const ThreadScope scope(threads);
      const Guarded<char> scratch(work.ScratchBytes());
      const Guarded<float> y(expected.size());
      work.Run(x.data(), rois.data(), y.data(), scratch.data());
      ASSERT_EQ(y.values(), expected) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace amp::kernels
