#include "kernels/image_convolution.h"

#include <algorithm>
#include <cstring>

#include "kernels/float_bits.h"
#include "kernels/parallel.h"

namespace amp::kernels {
namespace {

std::int64_t NumPanels(const ImageConvolution& job) { return (job.out_channels + kImagePanel - 1) / kImagePanel; }

void CopyNumbers(const float* x, std::int64_t count, float* y) {
  if (count > 0) std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(float));
}
void CopyNumbers(const std::uint16_t* x, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = BF16ToFloat(x[i]);
}

// The row as the windows meet it: zeros where they reach beyond the image.
template <class T>
void CopyRow(const ImageConvolution& job, const T* x, float* y) {
  const std::int64_t length = job.row_length(), pad = job.width.pad;
  const std::int64_t begin = std::clamp<std::int64_t>(pad, 0, length);
  const std::int64_t end = std::clamp<std::int64_t>(pad + job.width.size, begin, length);
  std::fill(y, y + begin, 0.0f);
  CopyNumbers(x + (begin - pad), end - begin, y + begin);
  std::fill(y + end, y + length, 0.0f);
}

// Where the k-th element of the window of result `out` lies; -1 outside of the image.
std::int64_t PlaceOf(const WindowAxis& axis, std::int64_t out, std::int64_t k) {
  const std::int64_t place = out * axis.stride - axis.pad + k * axis.step;
  return place < axis.size ? std::max<std::int64_t>(place, -1) : -1;
}

template <class T>
void CopyWindowRows(const ImageConvolution& job, const T* image, std::int64_t plane, std::int64_t row, float* rows) {
  const std::int64_t length = job.row_length();
  for (std::int64_t c = 0; c < job.channels; ++c) {
    for (std::int64_t i = 0; i < job.depth.kernel; ++i) {
      const std::int64_t z = PlaceOf(job.depth, plane, i);
      for (std::int64_t k = 0; k < job.height.kernel; ++k, rows += length) {
        const std::int64_t y = PlaceOf(job.height, row, k);
        if (z < 0 || y < 0) {
          std::fill(rows, rows + length, 0.0f);
        } else {
          CopyRow(job, image + ((c * job.depth.size + z) * job.height.size + y) * job.width.size, rows);
        }
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

std::int64_t PackedImageWeights(const ImageConvolution& job) { return NumPanels(job) * job.taps() * kImagePanel; }

void PackImageWeights(const ImageConvolution& job, const float* weights, float* packed) {
  const std::int64_t taps = job.taps();
  for (std::int64_t panel = 0; panel < NumPanels(job); ++panel) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t lane = 0; lane < kImagePanel; ++lane) {
        const std::int64_t channel = panel * kImagePanel + lane;
        *packed++ = channel < job.out_channels ? weights[channel * taps + tap] : 0;
      }
    }
  }
}

std::size_t ImageConvolutionScratchBytes(const ImageConvolution& job, int num_threads) {
  return static_cast<std::size_t>(num_threads * job.window_rows() * job.row_length()) * sizeof(float);
}

void RunImageConvolution(const ImageConvolution& job, const void* x, const float* packed, const float* bias, void* y,
                         void* scratch, const ImageConvolutionTable& table) {
  const std::int64_t image = job.channels * job.depth.size * job.height.size * job.width.size;
  const std::int64_t out_rows = job.depth.out * job.height.out;
  ParallelFor(job.batch * out_rows, 1, [&](std::int64_t i) {
    const std::int64_t n = i / out_rows, plane = i % out_rows / job.height.out, row = i % job.height.out;
    float* rows = static_cast<float*>(scratch) + CurrentPlace().part * job.window_rows() * job.row_length();
    if (job.x_is_bf16) {
      CopyWindowRows(job, static_cast<const std::uint16_t*>(x) + n * image, plane, row, rows);
    } else {
      CopyWindowRows(job, static_cast<const float*>(x) + n * image, plane, row, rows);
    }
    const std::int64_t offset = n * job.y_batch + plane * job.y_plane + row * job.y_row;
    table.row(job, rows, packed, bias, static_cast<char*>(y) + offset * (job.y_is_bf16 ? 2 : 4));
  });
}

}  // namespace amp::kernels
