// Convolutions of images with few channels, channels first, such as the first layer of a network. Results have their
// channels last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu.h"
#include "kernels/pointwise.h"

namespace amp::kernels {

// The product of the windows of images: its rows are windows, its input channels their elements,
// [channel][row][column]. The source lies in row-major order (batch, channels, height, width), with zeros around it.
struct ImageConvolution {
  Pointwise product;  // multiplies float32; of its source only the dtype counts
  std::int64_t channels = 1, height = 1, width = 1;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_y = 1, stride_x = 1;
  std::int64_t pad_top = 0, pad_left = 0;
};

std::size_t ImageConvolutionScratchBytes(const ImageConvolution& job);

// Weights are packed by PackPointwiseWeights for the product. `scratch`: so many bytes. Splits rows of images among the
// product's threads; the result does not depend on their number. Allocates nothing.
void RunImageConvolution(const ImageConvolution& job, const PointwiseData& data, void* scratch);

// Rows that the windows of so many rows of the result meet, and columns of those of one row.
constexpr std::int64_t ImageRows(const ImageConvolution& job, std::int64_t rows) {
  return (rows - 1) * job.stride_y + job.kernel_height;
}
constexpr std::int64_t ImageColumns(const ImageConvolution& job) {
  return (job.product.width - 1) * job.stride_x + job.kernel_width;
}

// Some rows of the result of one image, and memory.
struct ImageConvolutionPart {
  std::int64_t image = 0, first_row = 0, num_rows = 0;
  std::int64_t* taps = nullptr;  // for each element of a window, how far it lies behind the first one
  float* rows = nullptr;         // what the windows meet: [channel][row][column]
};

struct ImageConvolutionTable {
  Isa isa;
  using Run = void (*)(const ImageConvolution& job, const PointwiseData& data, const ImageConvolutionPart& part);
  Run run;
};
const ImageConvolutionTable* ImageConvolutionTableGeneric();
// Null where the compiler was not told to make code for it.
const ImageConvolutionTable* ImageConvolutionTableAvx2();
const ImageConvolutionTable* ImageConvolutionTableAvx512();

// The same as Run with a given table, for tests.
void RunImageConvolutionWith(const ImageConvolutionTable& table, const ImageConvolution& job, const PointwiseData& data,
                             void* scratch);

}  // namespace amp::kernels
