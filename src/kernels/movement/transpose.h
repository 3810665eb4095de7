// Transposes of matrices of float32 numbers.
#pragma once

#include <cstdint>

namespace amp::kernels {

// y[c * y_stride + r] = x[r * x_stride + c], on the calling thread.
void Transpose(const float* x, std::int64_t x_stride, float* y, std::int64_t y_stride, std::int64_t rows,
               std::int64_t columns);

// Images (N, C, positions) become (N, positions, C). Splits the work among the threads of the scope (ParallelFor).
void ChannelsLast(const float* x, float* y, std::int64_t images, std::int64_t channels, std::int64_t positions);

}  // namespace amp::kernels
