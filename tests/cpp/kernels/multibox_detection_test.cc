#include "kernels/vision/multibox_detection.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using Random = std::mt19937;

// What must hold of the detections of one image, which are `anchors` rows.
void CheckImage(const MultiBoxDetection& work, const float* probabilities, const float* rows) {
  std::int64_t candidates = 0;
  for (std::int64_t i = 0; i < work.anchors; ++i) {
    float best = -1;
    for (std::int64_t c = 1; c < work.classes; ++c) best = std::max(best, probabilities[c * work.anchors + i]);
    candidates += best >= work.threshold;
  }
  const std::int64_t sorted = work.topk > 0 ? std::min(work.topk, candidates) : candidates;
  for (std::int64_t i = 0; i < work.anchors; ++i) {
    const float* row = rows + i * 6;
    if (i >= candidates) {
      for (int k = 0; k < 6; ++k) ASSERT_EQ(row[k], -1);
      continue;
    }
    ASSERT_GE(row[1], work.threshold);
    if (i >= sorted) {
      ASSERT_EQ(row[0], -1);
    } else if (i > 0) {
      ASSERT_GE(row[-5], row[1]);
    }
    bool is_rivalled = false;
    for (const float* better = rows; better < row; better += 6) {
      const bool rivals = better[0] >= 0 && (work.force_suppress || better[0] == row[0] || row[0] < 0);
      is_rivalled = is_rivalled || (rivals && MultiBoxDetection::Overlap(better + 2, row + 2) >= work.nms_threshold);
    }
    if (i < sorted) {
      ASSERT_EQ(row[0] < 0 && !is_rivalled, false);
    }
    ASSERT_EQ(row[0] >= 0 && is_rivalled, false);
  }
}

TEST(MultiBoxDetection, KeepsTheBestOfBoxesThatOverlap) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    Random random(seed);
    MultiBoxDetection work;
    work.images = static_cast<std::int64_t>(1 + random() % 3);
    work.classes = static_cast<std::int64_t>(1 + random() % 5);
    work.anchors = static_cast<std::int64_t>(1 + random() % (seed % 4 == 0 ? 1200 : 40));
    work.threshold = random() % 2 == 0 ? 0.01f : 0.6f;
    work.nms_threshold = random() % 2 == 0 ? 0.3f : 0.7f;
    work.topk = random() % 2 == 0 ? -1 : static_cast<std::int64_t>(random() % 20);
    work.clip = random() % 2 == 0;
    work.force_suppress = random() % 2 == 0;
    work.variances = {0.1f, 0.1f, 0.2f, 0.2f};
    std::uniform_real_distribution<float> draw(0, 1);
    const auto values = [&](std::int64_t count) {
      std::vector<float> all(static_cast<std::size_t>(count));
      for (float& value : all) value = draw(random);
      return all;
    };
    const std::vector<float> scores = values(work.images * work.classes * work.anchors);
    const std::vector<float> boxes = values(work.images * work.anchors * 4);
    std::vector<float> corners = values(work.anchors * 4);
    for (std::size_t i = 0; i < corners.size(); i += 4) {
      corners[i + 2] += corners[i];
      corners[i + 3] += corners[i + 1];
    }
    const Guarded<float> x(scores), codes(boxes), anchors(corners);
    std::vector<float> first;
    for (const int threads : {1, 3}) {
      const ThreadScope scope(threads);
      const Guarded<char> scratch(work.ScratchBytes());
      const Guarded<float> y(static_cast<std::size_t>(work.images * work.anchors * 6));
      work.Run(x.data(), codes.data(), anchors.data(), y.data(), scratch.data());
      for (std::int64_t n = 0; n < work.images; ++n) {
        CheckImage(work, scores.data() + n * work.classes * work.anchors, y.data() + n * work.anchors * 6);
      }
      if (first.empty()) first = y.values();
      ASSERT_EQ(y.values(), first);
    }
  }
}

}  // namespace
}  // namespace amp::kernels
