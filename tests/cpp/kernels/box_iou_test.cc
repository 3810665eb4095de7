#include "kernels/vision/box_iou.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

TEST(BoxIou, OfEachPair) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const BoxIou work{static_cast<std::int64_t>(random() % 90), static_cast<std::int64_t>(random() % 90),
                      seed % 2 == 0};
    const auto boxes = [&](std::int64_t count) {
      std::vector<float> all;
      for (std::int64_t i = 0; i < count * 4; ++i) all.push_back(static_cast<float>(random() % 9));
      return all;
    };
    const std::vector<float> lhs = boxes(work.rows), rhs = boxes(work.columns);
    const Guarded<float> a(lhs), b(rhs), y(static_cast<std::size_t>(work.rows * work.columns));
    const ThreadScope scope(static_cast<int>(1 + random() % 3));
    work.Run(a.data(), b.data(), y.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      double both = 1, first = 1, second = 1;
      for (std::size_t k = 0; k < 2; ++k) {
        const float* p = lhs.data() + i / static_cast<std::size_t>(work.columns) * 4 + k;
        const float* q = rhs.data() + i % static_cast<std::size_t>(work.columns) * 4 + k;
        const double p_low = work.from_center ? p[0] - p[2] / 2.0 : p[0],
                     p_high = work.from_center ? p_low + p[2] : p[2];
        const double q_low = work.from_center ? q[0] - q[2] / 2.0 : q[0],
                     q_high = work.from_center ? q_low + q[2] : q[2];
        both *= std::max(0.0, std::min(p_high, q_high) - std::max(p_low, q_low));
        first *= std::max(0.0, p_high - p_low);
        second *= std::max(0.0, q_high - q_low);
      }
      const double either = first + second - both;
      ASSERT_NEAR(y.data()[i], either > 0 ? both / either : 0, 1e-6) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace amp::kernels
