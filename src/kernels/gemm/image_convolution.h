// Convolutions of images with few channels, channels first, such as the first layer of a network. Results have their
// channels last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/cpu.h"
#include "kernels/gemm/gemm.h"

namespace amp::kernels {

// Max pooling of an image's results. Of a window only what lies inside of the image counts; where that is nothing, the
// lowest finite number is the largest.
struct ImagePool {
  std::int64_t kernel_height = 0, kernel_width = 0;  // 0: none
  std::int64_t stride_y = 1, stride_x = 1;
  std::int64_t pad_top = 0, pad_left = 0;
  std::int64_t height = 0, width = 0;  // of what it gives
};

// The product of the windows of images: its rows are windows, its input channels their elements, so many as
// ImageConvolutionDepth says. The source lies in row-major order (batch, channels, height, width), with zeros around
// it.
struct ImageConvolution {
  Gemm product;  // of its source only the dtype counts
  std::int64_t channels = 1, height = 1, width = 1;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_y = 1, stride_x = 1;
  std::int64_t pad_top = 0, pad_left = 0;
  ImagePool pool = {};  // the destination then has what it gives, and nothing is added to results

  bool pools() const { return pool.kernel_height > 0; }
};

// What is multiplied together is a unit: in float32 a number; in bfloat16 a pair of two channels, and of the last of an
// odd number of channels a pair of neighbours in a row. Images are copied into planes of units.
constexpr std::int64_t ImagePlanes(const ImageConvolution& job) {
  return job.product.multiplies_bf16() ? (job.channels + 1) / 2 : job.channels;
}
// How many a row of a window has in a plane.
constexpr std::int64_t ImageUnitsOfRow(const ImageConvolution& job, std::int64_t plane) {
  const bool is_alone = job.product.multiplies_bf16() && 2 * plane + 1 == job.channels;
  return is_alone ? (job.kernel_width + 1) / 2 : job.kernel_width;
}
// In which column of a window one of these begins: the last of an odd width also has the column before, with a weight
// of zero, so that nothing outside of the window is met.
constexpr std::int64_t ImageUnitColumn(const ImageConvolution& job, std::int64_t plane, std::int64_t unit) {
  if (ImageUnitsOfRow(job, plane) == job.kernel_width) return unit;
  return 2 * unit + 1 < job.kernel_width ? 2 * unit : job.kernel_width - 2;
}
constexpr std::int64_t ImageUnits(const ImageConvolution& job) {
  const std::int64_t planes = ImagePlanes(job), last = planes == 0 ? 0 : ImageUnitsOfRow(job, planes - 1);
  return job.kernel_height * ((planes == 0 ? 0 : planes - 1) * job.kernel_width + last);
}
// The product's input channels.
constexpr std::int64_t ImageConvolutionDepth(const ImageConvolution& job) {
  return ImageUnits(job) * (job.product.multiplies_bf16() ? 2 : 1);
}

// `weights`: (out_channels, channels, kernel_height, kernel_width), float32. What multiplies bfloat16 rounds them.
// Packed weights take PackedGemmBytes of the product.
void PackImageConvolutionWeights(const ImageConvolution& job, const float* weights, void* packed);

std::size_t ImageConvolutionScratchBytes(const ImageConvolution& job);

// `scratch`: so many bytes. Splits rows of images among the product's threads; the result does not depend on their
// number. Allocates nothing.
void RunImageConvolution(const ImageConvolution& job, const GemmData& data, void* scratch);

// Rows that the windows of so many rows of the result meet, and columns of those of one row.
constexpr std::int64_t ImageRows(const ImageConvolution& job, std::int64_t rows) {
  return (rows - 1) * job.stride_y + job.kernel_height;
}
constexpr std::int64_t ImageColumns(const ImageConvolution& job) {
  return (job.product.width - 1) * job.stride_x + job.kernel_width;
}

// Where results are pooled, a part computes so many rows of them at a time, and keeps so many for windows that follow.
constexpr std::int64_t kImagePoolRows = 4;
constexpr std::int64_t ImageKeptRows(const ImageConvolution& job) {
  return kImagePoolRows + job.pool.kernel_height - 1;
}

// Some rows of the result of one image, and memory.
struct ImageConvolutionPart {
  std::int64_t image = 0, first_row = 0, num_rows = 0;
  std::int64_t* taps = nullptr;  // for each unit of a window, how many units it lies behind the first one
  void* units = nullptr;         // what the windows meet: [plane][row][column]
  void* kept = nullptr;          // rows of results that are pooled, in the destination's dtype: [row][column][channel]
};

struct ImageConvolutionTable {
  Isa isa;
  using Run = void (*)(const ImageConvolution& job, const GemmData& data, const ImageConvolutionPart& part);
  Run run[2];  // of float32 and bfloat16; null where there is no code

  static const ImageConvolutionTable *Generic(), *Avx2(), *Avx512(), *Avx512BF16();  // see BestTable
};

// RunImageConvolution with a given table, for tests.
void RunImageConvolutionWith(const ImageConvolutionTable& table, const ImageConvolution& job, const GemmData& data,
                             void* scratch);

}  // namespace amp::kernels
