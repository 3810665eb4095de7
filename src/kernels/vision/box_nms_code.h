// The code of suppression. One source for all instruction sets; every name depends on the instruction set, on purpose:
// see vector_code.h.
#pragma once

#include "kernels/vision/box_nms.h"

namespace amp::kernels {

template <Isa kIsa>
struct BoxNmsCode {
  // std::max and std::min, which keep the first operand where the other one is a NaN.
  static float Max(float a, float b) { return a < b ? b : a; }
  static float Min(float a, float b) { return b < a ? b : a; }

  static void Suppress(const RankedBoxes& boxes, std::int64_t i, std::int64_t begin, std::int64_t end, float limit,
                       bool of_any_class) {
    const float left = boxes.left[i], top = boxes.top[i], right = boxes.right[i], bottom = boxes.bottom[i];
    const float area = boxes.area[i], id = boxes.id[i];
    const float *__restrict lefts = boxes.left, *__restrict tops = boxes.top, *__restrict rights = boxes.right,
                *__restrict bottoms = boxes.bottom, *__restrict areas = boxes.area, *__restrict ids = boxes.id;
    std::int32_t* __restrict is_left_out = boxes.is_left_out;
    const std::int32_t any_class = of_any_class ? 1 : 0;
    for (std::int64_t j = begin; j < end; ++j) {
      const float across = Max(0, Min(rights[j], right) - Max(lefts[j], left));
      const float down = Max(0, Min(bottoms[j], bottom) - Max(tops[j], top));
      const float both = across * down, either = area + areas[j] - both;
      const float quotient = both / either, overlap = either > 0 ? quotient : 0;
      const std::int32_t is_rival = any_class | (ids[j] == id ? 1 : 0);
      is_left_out[j] |= is_rival & (overlap > limit ? 1 : 0);
    }
  }

  static constexpr BoxNmsTable kTable = {kIsa, Suppress};
};

}  // namespace amp::kernels
