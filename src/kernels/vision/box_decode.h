// Boxes that are given relative to anchors.
#pragma once

#include <array>
#include <cstdint>

namespace amp::kernels {

struct BoxDecode {
  std::int64_t images = 0, count = 0;  // boxes (images, count, 4), anchors (count, 4)
  std::array<float, 4> scales = {1, 1, 1, 1};
  float clip = -1;              // limit of logarithms of sizes; not above 0: none
  bool corner_anchors = false;  // left, top, right and bottom; else the middle, width and height

  // Four values: how far the middle lies from the anchor's in units of its size, and the logarithms of what the size
  // is to it. Gives corners.
  void Decode(const float* code, const float* anchor, float* box) const;
  // Splits the work among the threads of the scope (ParallelFor).
  void Run(const float* codes, const float* anchors, float* boxes) const;
};

}  // namespace amp::kernels
