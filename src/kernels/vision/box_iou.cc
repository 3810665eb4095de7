#include "kernels/vision/box_iou.h"

#include <algorithm>

#include "kernels/threads/parallel.h"

namespace amp::kernels {

float BoxIou::Of(const float* a, const float* b) const {
  float both = 1, first = 1, second = 1;
  for (int i = 0; i < 2; ++i) {
    const float a_low = from_center ? a[i] - a[i + 2] / 2 : a[i], a_high = from_center ? a[i] + a[i + 2] / 2 : a[i + 2];
    const float b_low = from_center ? b[i] - b[i + 2] / 2 : b[i], b_high = from_center ? b[i] + b[i + 2] / 2 : b[i + 2];
    both *= std::max(0.f, std::min(a_high, b_high) - std::max(a_low, b_low));
    first *= std::max(0.f, from_center ? a[i + 2] : a_high - a_low);
    second *= std::max(0.f, from_center ? b[i + 2] : b_high - b_low);
  }
  const float either = first + second - both;
  return either > 0 ? both / either : 0;
}

void BoxIou::Run(const float* a, const float* b, float* y) const {
  ParallelFor(rows, std::max<std::int64_t>(1, 2048 / std::max<std::int64_t>(1, columns)), [&](std::int64_t i) {
    for (std::int64_t j = 0; j < columns; ++j) y[i * columns + j] = Of(a + i * 4, b + j * 4);
  });
}

}  // namespace amp::kernels
