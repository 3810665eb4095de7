#include "kernels/vision/box_decode.h"

#include <algorithm>
#include <cmath>

#include "kernels/threads/parallel.h"

namespace amp::kernels {

void BoxDecode::Decode(const float* code, const float* anchor, float* box) const {
  for (std::size_t i = 0; i < 2; ++i) {
    const float from = anchor[i], to = anchor[i + 2];
    const float middle = corner_anchors ? (from + to) / 2 : from, size = corner_anchors ? to - from : to;
    const float log = code[i + 2] * scales[i + 2];
    const float half = std::exp(clip > 0 ? std::min(log, clip) : log) * size / 2;
    const float at = code[i] * scales[i] * size + middle;
    box[i] = at - half;
    box[i + 2] = at + half;
  }
}

void BoxDecode::Run(const float* codes, const float* anchors, float* boxes) const {
  ParallelFor(images * count, 1024,
              [&](std::int64_t i) { Decode(codes + i * 4, anchors + i % count * 4, boxes + i * 4); });
}

}  // namespace amp::kernels
