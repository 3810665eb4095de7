// Bilinear interpolation of planes.
#pragma once

#include <cstdint>
#include <vector>

namespace amp::kernels {

// Where a position of the result lies in the source: at `first`, or between it and the next one, `second` (which is
// `first` at the edge), whose weight is `weight`.
struct LinearSample {
  std::int64_t first = 0, second = 0;
  float weight = 0;
};

class BilinearResize {
 public:
  // `rows` and `columns`: one sample for each of the result's. Sources have `height` x `width` positions.
  BilinearResize(std::int64_t planes, std::int64_t height, std::int64_t width, std::vector<LinearSample> rows,
                 const std::vector<LinearSample>& columns);

  // Splits the work among the threads of the scope (ParallelFor); the result does not depend on their number.
  void Run(const float* x, float* y) const;

 private:
  void RunPart(const float* x, float* y, std::int64_t first_row, std::int64_t first_column) const;

  std::int64_t planes_, height_, width_;
  std::vector<LinearSample> rows_;
  std::vector<std::int32_t> first_, second_;  // by column
  std::vector<float> weights_;
};

}  // namespace amp::kernels
