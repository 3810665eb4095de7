#include "kernels/movement/transpose.h"

#include <algorithm>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace amp::kernels {
namespace {

// A tile of so many rows and columns stays in the nearest cache.
constexpr std::int64_t kTile = 64;

// Squares of 4 x 4 numbers; what they do not cover is left.
void TransposeSquares(const float* x, std::int64_t x_stride, float* y, std::int64_t y_stride, std::int64_t rows,
                      std::int64_t columns) {
#ifdef __SSE2__
  for (std::int64_t r = 0; r < rows; r += 4) {
    for (std::int64_t c = 0; c < columns; c += 4) {
      const float* from = x + r * x_stride + c;
      float* to = y + c * y_stride + r;
      __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + x_stride);
      __m128 d = _mm_loadu_ps(from + 2 * x_stride), e = _mm_loadu_ps(from + 3 * x_stride);
      _MM_TRANSPOSE4_PS(a, b, d, e);
      _mm_storeu_ps(to, a);
      _mm_storeu_ps(to + y_stride, b);
      _mm_storeu_ps(to + 2 * y_stride, d);
      _mm_storeu_ps(to + 3 * y_stride, e);
    }
  }
#else
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) y[c * y_stride + r] = x[r * x_stride + c];
  }
#endif
}

}  // namespace

void Transpose(const float* x, std::int64_t x_stride, float* y, std::int64_t y_stride, std::int64_t rows,
               std::int64_t columns) {
  const std::int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  TransposeSquares(x, x_stride, y, y_stride, whole_rows, whole_columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      y[c * y_stride + r] = x[r * x_stride + c];
    }
  }
}

void ChannelsLast(const float* x, float* y, std::int64_t images, std::int64_t channels, std::int64_t positions) {
  const std::int64_t stripes = CeilDiv(positions, kTile);
  ParallelFor(images * stripes, std::max<std::int64_t>(1, 256 / std::max<std::int64_t>(1, channels)),
              [&](std::int64_t i) {
                const std::int64_t image = i / stripes * channels * positions, first = i % stripes * kTile;
                const std::int64_t count = std::min(kTile, positions - first);
                for (std::int64_t c = 0; c < channels; c += kTile) {
                  Transpose(x + image + c * positions + first, positions, y + image + first * channels + c, channels,
                            std::min(kTile, channels - c), count);
                }
              });
}

}  // namespace amp::kernels
