#include "kernels/vision/multibox_detection.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kTile = 512;  // anchors

// The most probable class of some anchors, 0 for none.
void BestClasses(const MultiBoxDetection& work, const float* x, std::int64_t count, float* score, std::int32_t* id) {
  std::fill_n(score, count, -1.f);
  std::fill_n(id, count, 0);
  for (std::int64_t c = 1; c < work.classes; ++c) {
    const float* row = x + c * work.anchors;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool beats = row[i] > score[i];
      score[i] = beats ? row[i] : score[i];
      id[i] = beats ? static_cast<std::int32_t>(c) : id[i];
    }
  }
}

// The scratch memory of one image.
struct Candidates {
  float* score;         // by anchor
  std::int32_t* id;     // by anchor
  std::int32_t* order;  // anchors in order of their scores

  Candidates(const MultiBoxDetection& work, std::int64_t image, void* scratch) {
    auto* begin = static_cast<std::int32_t*>(scratch) + image * work.anchors * 3;
    score = reinterpret_cast<float*>(begin);
    id = begin + work.anchors;
    order = id + work.anchors;
  }
};

// One image, whose scores and classes are known.
class Image {
 public:
  Image(const MultiBoxDetection& work, const Candidates& candidates, const float* codes, const float* corners, float* y)
      : work_(work), all_(candidates), codes_(codes), corners_(corners), y_(y) {}

  void Run() {
    std::fill_n(y_, work_.anchors * 6, -1.f);
    std::int32_t count = 0;
    for (std::int64_t i = 0; i < work_.anchors; ++i) {
      if (all_.id[i] > 0 && !(all_.score[i] < work_.threshold)) all_.order[count++] = static_cast<std::int32_t>(i);
    }
    const bool suppresses = work_.nms_threshold > 0 && work_.nms_threshold <= 1;
    const std::int32_t kept =
        suppresses && work_.topk > 0 ? static_cast<std::int32_t>(std::min<std::int64_t>(work_.topk, count)) : count;
    // What is not among the best stays in its place, suppressed.
    for (std::int32_t i = suppresses ? kept : 0; i < count; ++i) Write(i, all_.order[i]);
    if (!suppresses) return;
    for (std::int32_t i = kept; i < count; ++i) y_[i * 6] = -1;
    const auto is_better = [&](std::int32_t a, std::int32_t b) {
      return all_.score[a] > all_.score[b] || (all_.score[a] == all_.score[b] && a < b);
    };
    std::partial_sort(all_.order, all_.order + kept, all_.order + count, is_better);
    for (std::int32_t i = 0; i < kept; ++i) Write(i, all_.order[i]);
    Suppress(kept);
  }

 private:
  void Write(std::int64_t row, std::int64_t anchor) {
    float* to = y_ + row * 6;
    to[0] = static_cast<float>(all_.id[anchor] - 1);
    to[1] = all_.score[anchor];
    work_.Decode(codes_ + anchor * 4, corners_ + anchor * 4, to + 2);
  }

  void Suppress(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float* best = y_ + i * 6;
      if (best[0] < 0) continue;
      for (float* other = y_ + (i + 1) * 6; other < y_ + count * 6; other += 6) {
        if (other[0] < 0 || !(work_.force_suppress || other[0] == best[0])) continue;
        if (MultiBoxDetection::Overlap(best + 2, other + 2) >= work_.nms_threshold) other[0] = -1;
      }
    }
  }

  const MultiBoxDetection& work_;
  const Candidates& all_;
  const float *codes_, *corners_;
  float* y_;
};

}  // namespace

void MultiBoxDetection::Decode(const float* code, const float* anchor, float* box) const {
  for (std::size_t i = 0; i < 2; ++i) {
    const float size = anchor[i + 2] - anchor[i], middle = (anchor[i] + anchor[i + 2]) / 2;
    const float at = code[i] * variances[i] * size + middle;
    const float half = std::exp(code[i + 2] * variances[i + 2]) * size / 2;
    box[i] = clip ? std::max(0.f, std::min(1.f, at - half)) : at - half;
    box[i + 2] = clip ? std::max(0.f, std::min(1.f, at + half)) : at + half;
  }
}

float MultiBoxDetection::Overlap(const float* a, const float* b) {
  const float width = std::max(0.f, std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const float height = std::max(0.f, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const float both = width * height;
  const float either = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;
  return either <= 0 ? 0 : both / either;
}

std::size_t MultiBoxDetection::ScratchBytes() const {
  return static_cast<std::size_t>(images * anchors) * 3 * sizeof(std::int32_t);
}

void MultiBoxDetection::Run(const float* probabilities, const float* codes, const float* corners, float* y,
                            void* scratch) const {
  const std::int64_t tiles = CeilDiv(anchors, kTile);
  ParallelFor(images * tiles, 2, [&](std::int64_t item) {
    const std::int64_t image = item / tiles, first = item % tiles * kTile;
    const Candidates candidates(*this, image, scratch);
    BestClasses(*this, probabilities + image * classes * anchors + first, std::min(kTile, anchors - first),
                candidates.score + first, candidates.id + first);
  });
  ParallelFor(images, 1, [&](std::int64_t image) {
    const Candidates candidates(*this, image, scratch);
    Image(*this, candidates, codes + image * anchors * 4, corners, y + image * anchors * 6).Run();
  });
}

}  // namespace amp::kernels
