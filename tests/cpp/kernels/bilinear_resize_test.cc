#include "kernels/vision/bilinear_resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using Random = std::mt19937;

// Positions in order, or in any.
std::vector<LinearSample> DrawSamples(Random& random, std::int64_t in, std::int64_t out) {
  std::uniform_real_distribution<float> weight(0, 1);
  std::vector<LinearSample> samples;
  for (std::int64_t i = 0; i < out; ++i) {
    const auto first = static_cast<std::int64_t>(random() % static_cast<unsigned>(in));
    samples.push_back({first, std::min(first + 1, in - 1), weight(random)});
  }
  if (random() % 2 == 0) std::sort(samples.begin(), samples.end(), [](auto& a, auto& b) { return a.first < b.first; });
  return samples;
}

TEST(BilinearResize, PlanesOfAllSizes) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const auto size = [&](int most) { return static_cast<std::int64_t>(1 + random() % most); };
    const std::int64_t planes = size(5), height = size(20), width = size(20);
    const std::int64_t rows = seed % 5 == 0 ? size(200) : size(9), columns = seed % 7 == 0 ? size(3000) : size(90);
    const std::vector<LinearSample> down = DrawSamples(random, height, rows),
                                    across = DrawSamples(random, width, columns);
    std::vector<float> values(static_cast<std::size_t>(planes * height * width));
    std::normal_distribution<float> normal(0, 1);
    for (float& value : values) value = normal(random);
    const Guarded<float> x(values);
    std::vector<float> expected;
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      for (const LinearSample& r : down) {
        const float* upper = x.data() + (plane * height + r.first) * width;
        const float* lower = x.data() + (plane * height + r.second) * width;
        for (const LinearSample& c : across) {
          const float left = 1 - c.weight;
          expected.push_back((1 - r.weight) * (left * upper[c.first] + c.weight * upper[c.second]) +
                             r.weight * (left * lower[c.first] + c.weight * lower[c.second]));
        }
      }
    }
    const BilinearResize work(planes, height, width, down, across);
    for (const int threads : {1, 2, 3}) {
      const ThreadScope scope(threads);
      const Guarded<float> y(expected.size());
      work.Run(x.data(), y.data());
      ASSERT_EQ(y.values(), expected) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace amp::kernels
