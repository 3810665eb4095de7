// Convolution of an image of few channels, channels first, as networks get it: their first layer.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu.h"

namespace amp::kernels {

// Channels of the result are computed in panels of so many.
constexpr std::int64_t kImagePanel = 16;

// y = clip(conv(x, weights) + bias), x of (batch, channels, height, width) in row-major order.
struct ImageConvolution {
  std::int64_t batch = 0, channels = 0, height = 0, width = 0;
  std::int64_t out_channels = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_y = 1, stride_x = 1;
  std::int64_t step_y = 1, step_x = 1;     // between the elements of the window: 1 where it is dense
  std::int64_t pad_top = 0, pad_left = 0;  // what lies outside of the image is 0
  bool x_is_bf16 = false, y_is_bf16 = false;
  float low = -HUGE_VALF, high = HUGE_VALF;  // the result is clipped to this
  // Distances in y, in elements, between images, panels of channels, rows and pixels. Channels of a panel lie side by
  // side.
  std::int64_t y_batch = 0, y_panel = kImagePanel, y_row = 0, y_pixel = 0;
};

// Number of floats that PackImageWeights writes.
std::int64_t PackedImageWeights(const ImageConvolution& job);
// `weights` are (out_channels, channels, kernel_height, kernel_width); `bias` may be null.
void PackImageWeights(const ImageConvolution& job, const float* weights, const float* bias, float* packed);

// What a run with so many threads needs beside its operands.
std::size_t ImageConvolutionScratchBytes(const ImageConvolution& job, int num_threads);
struct ImageConvolutionTable {
  Isa isa;
  // One row of the result. `rows`: for each channel and row of the window the elements that it meets, as float32.
  void (*row)(const ImageConvolution& job, const float* rows, const float* packed, void* y);
};
const ImageConvolutionTable* ImageConvolutionGeneric();
// Null where the compiler was not told to make code for it.
const ImageConvolutionTable* ImageConvolutionAvx2();
const ImageConvolutionTable* ImageConvolutionAvx512();
const ImageConvolutionTable& ActiveImageConvolution();

// Bits do not depend on the number of threads of the scope, which is at most that of the scratch memory.
void RunImageConvolution(const ImageConvolution& job, const void* x, const float* packed, void* y, void* scratch,
                         const ImageConvolutionTable& table = ActiveImageConvolution());

}  // namespace amp::kernels
