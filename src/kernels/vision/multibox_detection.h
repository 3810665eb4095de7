// Detections of a single-shot detector from probabilities of classes and codes of boxes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace amp::kernels {

struct MultiBoxDetection {
  std::int64_t images = 0, classes = 0, anchors = 0;  // class 0 is the background
  float threshold = 0;                                // probabilities below are none
  float nms_threshold = 0;                            // intersection over union that suppresses; in (0, 1]: else none
  std::int64_t topk = -1;                             // how many of the best count; below 1: all
  bool clip = true;                                   // boxes to [0, 1]
  bool force_suppress = false;                        // boxes of other classes suppress, too
  std::array<float, 4> variances = {1, 1, 1, 1};

  // Corners of a box from four values and the corners of its anchor.
  void Decode(const float* code, const float* anchor, float* box) const;
  static float Overlap(const float* a, const float* b);

  // Room for a score, a class and a place in the order of each anchor of each image.
  std::size_t ScratchBytes() const;
  // Probabilities (N, classes, A), codes (N, A, 4), anchors (A, 4). Detections (N, A, 6): class without background, or
  // -1 where it is suppressed, probability, corners; rows of -1 behind them. Splits the work among the threads of the
  // scope (ParallelFor).
  void Run(const float* probabilities, const float* codes, const float* corners, float* y, void* scratch) const;
};

}  // namespace amp::kernels
