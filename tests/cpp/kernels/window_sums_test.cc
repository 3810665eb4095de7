#include "kernels/reduce/window_sums.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

TEST(WindowSums, AreSumsOverNeighbouringChannels) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto upto = [&](unsigned most) { return static_cast<std::int64_t>(1 + random() % most); };
    const WindowSums work{upto(3), upto(9), seed % 3 == 0 ? upto(2500) : upto(20), upto(12) - 1, seed % 2 == 0};
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> values(static_cast<std::size_t>(work.images * work.channels * work.places));
    for (float& value : values) value = normal(random);
    const Guarded<float> x(values);
    std::vector<float> first;
    for (const int threads : {1, 3}) {
      const ThreadScope scope(threads);
      const Guarded<float> y(values.size());
      work.Run(x.data(), y.data());
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); ++i) {
        const std::int64_t c = i / work.places % work.channels;
        double sum = 0;
        for (std::int64_t k = 0; k < work.channels; ++k) {
          const double other = values[static_cast<std::size_t>(i + (k - c) * work.places)];
          if (std::abs(k - c) <= work.reach) sum += work.of_squares ? other * other : other;
        }
        ASSERT_NEAR(y.data()[i], sum, 1e-5 * (1 + std::abs(sum))) << "seed " << seed;
      }
      if (first.empty()) first = y.values();
      ASSERT_EQ(y.values(), first);
    }
  }
}

}  // namespace
}  // namespace amp::kernels
