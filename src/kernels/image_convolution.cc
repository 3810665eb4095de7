#include "kernels/image_convolution.h"

#include <algorithm>
#include <cstring>

#include "kernels/float_bits.h"
#include "kernels/parallel.h"

namespace amp::kernels {
namespace {

std::int64_t Taps(const ImageConvolution& job) { return job.channels * job.kernel_height * job.kernel_width; }

std::int64_t NumPanels(const ImageConvolution& job) { return (job.out_channels + kImagePanel - 1) / kImagePanel; }

// Elements of one row that the windows of a row of the result meet.
std::int64_t RowLength(const ImageConvolution& job) {
  return (job.out_width - 1) * job.stride_x + (job.kernel_width - 1) * job.step_x + 1;
}

void CopyNumbers(const float* x, std::int64_t count, float* y) {
  if (count > 0) std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(float));
}
void CopyNumbers(const std::uint16_t* x, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = BF16ToFloat(x[i]);
}

// The row as the windows meet it: zeros where they reach beyond the image.
template <class T>
void CopyRow(const ImageConvolution& job, const T* x, float* y) {
  const std::int64_t length = RowLength(job);
  const std::int64_t begin = std::clamp<std::int64_t>(job.pad_left, 0, length);
  const std::int64_t end = std::clamp<std::int64_t>(job.pad_left + job.width, begin, length);
  std::fill(y, y + begin, 0.0f);
  CopyNumbers(x + (begin - job.pad_left), end - begin, y + begin);
  std::fill(y + end, y + length, 0.0f);
}

template <class T>
void CopyWindowRows(const ImageConvolution& job, const T* image, std::int64_t out_row, float* rows) {
  const std::int64_t length = RowLength(job);
  for (std::int64_t c = 0; c < job.channels; ++c) {
    for (std::int64_t k = 0; k < job.kernel_height; ++k, rows += length) {
      const std::int64_t row = out_row * job.stride_y - job.pad_top + k * job.step_y;
      if (row < 0 || row >= job.height) {
        std::fill(rows, rows + length, 0.0f);
      } else {
        CopyRow(job, image + (c * job.height + row) * job.width, rows);
      }
    }
  }
}

}  // namespace

const ImageConvolutionTable& ActiveImageConvolution() {
  static const ImageConvolutionTable& table =
      BestTable<ImageConvolutionTable>({{Isa::kGeneric, ImageConvolutionGeneric},
                                        {Isa::kAvx2, ImageConvolutionAvx2},
                                        {Isa::kAvx512, ImageConvolutionAvx512}});
  return table;
}

std::int64_t PackedImageWeights(const ImageConvolution& job) {
  return NumPanels(job) * (Taps(job) + 1) * kImagePanel;  // the bias comes first
}

void PackImageWeights(const ImageConvolution& job, const float* weights, const float* bias, float* packed) {
  const std::int64_t taps = Taps(job);
  for (std::int64_t panel = 0; panel < NumPanels(job); ++panel) {
    for (std::int64_t tap = -1; tap < taps; ++tap) {
      for (std::int64_t lane = 0; lane < kImagePanel; ++lane) {
        const std::int64_t channel = panel * kImagePanel + lane;
        float value = 0;
        if (channel < job.out_channels && tap >= 0) value = weights[channel * taps + tap];
        if (channel < job.out_channels && tap < 0 && bias != nullptr) value = bias[channel];
        *packed++ = value;
      }
    }
  }
}

std::size_t ImageConvolutionScratchBytes(const ImageConvolution& job, int num_threads) {
  return static_cast<std::size_t>(num_threads * job.channels * job.kernel_height * RowLength(job)) * sizeof(float);
}

void RunImageConvolution(const ImageConvolution& job, const void* x, const float* packed, void* y, void* scratch,
                         const ImageConvolutionTable& table) {
  const std::int64_t image = job.channels * job.height * job.width;
  const std::int64_t rows_length = job.channels * job.kernel_height * RowLength(job);
  ParallelFor(job.batch * job.out_height, 1, [&](std::int64_t i) {
    const std::int64_t n = i / job.out_height, row = i % job.out_height;
    float* rows = static_cast<float*>(scratch) + CurrentPlace().part * rows_length;
    if (job.x_is_bf16) {
      CopyWindowRows(job, static_cast<const std::uint16_t*>(x) + n * image, row, rows);
    } else {
      CopyWindowRows(job, static_cast<const float*>(x) + n * image, row, rows);
    }
    const std::int64_t offset = n * job.y_batch + row * job.y_row;
    table.row(job, rows, packed, static_cast<char*>(y) + offset * (job.y_is_bf16 ? 2 : 4));
  });
}

}  // namespace amp::kernels
