#include "kernels/vision/box_decode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

TEST(BoxDecode, MovesAndScalesAnchors) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    BoxDecode work;
    work.images = static_cast<std::int64_t>(1 + random() % 3);
    work.count = static_cast<std::int64_t>(1 + random() % 1500);
    work.scales = {0.1f, 0.2f, 0.3f, 1.f};
    work.clip = random() % 2 == 0 ? 0.25f : -1;
    work.corner_anchors = random() % 2 == 0;
    std::uniform_real_distribution<float> draw(0, 2);
    std::vector<float> codes(static_cast<std::size_t>(work.images * work.count * 4));
    std::vector<float> anchors(static_cast<std::size_t>(work.count * 4));
    for (float& value : codes) value = draw(random) - 1;
    for (float& value : anchors) value = draw(random);
    const Guarded<float> x(codes), a(anchors), y(codes.size());
    const ThreadScope scope(static_cast<int>(1 + random() % 3));
    work.Run(x.data(), a.data(), y.data());
    for (std::size_t i = 0; i < codes.size(); i += 4) {
      const float* anchor = anchors.data() + i % anchors.size();
      for (std::size_t k = 0; k < 2; ++k) {
        const double size = work.corner_anchors ? anchor[k + 2] - anchor[k] : anchor[k + 2];
        const double middle = work.corner_anchors ? (anchor[k] + anchor[k + 2]) / 2 : anchor[k];
        const double log = codes[i + k + 2] * work.scales[k + 2];
        const double now = std::exp(work.clip > 0 ? std::min<double>(log, work.clip) : log) * size;
        const double at = codes[i + k] * work.scales[k] * size + middle;
        ASSERT_NEAR(y.data()[i + k], at - now / 2, 1e-4) << "seed " << seed;
        ASSERT_NEAR(y.data()[i + k + 2], at + now / 2, 1e-4) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace amp::kernels
