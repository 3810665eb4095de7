// Convolution of an image or a film of few channels, channels first, as networks get it: their first layer.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu.h"

namespace amp::kernels {

// Channels of the result are computed in panels of so many.
constexpr std::int64_t kImagePanel = 16;

// One axis of the image and of the window that moves over it.
struct WindowAxis {
  std::int64_t size = 1;    // of the image
  std::int64_t out = 1;     // of the result
  std::int64_t kernel = 1;  // elements of the window
  std::int64_t stride = 1;
  std::int64_t step = 1;  // between the elements of the window: 1 where it is dense
  std::int64_t pad = 0;   // in front of the image; what lies outside of it is 0
};

// y = clip(conv(x, weights) + bias), x of (batch, channels, depth, height, width) in row-major order.
struct ImageConvolution {
  std::int64_t batch = 1, channels = 1, out_channels = 1;
  WindowAxis depth, height, width;
  bool x_is_bf16 = false, y_is_bf16 = false;
  float low = -HUGE_VALF, high = HUGE_VALF;  // the result is clipped to this
  // Distances in y, in elements, between images, panels of channels, planes, rows and pixels. Channels of a panel lie
  // side by side.
  std::int64_t y_batch = 0, y_panel = kImagePanel, y_plane = 0, y_row = 0, y_pixel = 0;

  // Elements of the window.
  std::int64_t taps() const { return channels * depth.kernel * height.kernel * width.kernel; }
  // Rows of the image that the window meets, and how many of their elements all windows of a row of the result meet.
  std::int64_t window_rows() const { return channels * depth.kernel * height.kernel; }
  std::int64_t row_length() const { return (width.out - 1) * width.stride + (width.kernel - 1) * width.step + 1; }
};

// Number of floats that PackImageWeights writes.
std::int64_t PackedImageWeights(const ImageConvolution& job);
// `weights` are (out_channels, channels) and the sizes of the window.
void PackImageWeights(const ImageConvolution& job, const float* weights, float* packed);

// What a run with so many threads needs beside its operands.
std::size_t ImageConvolutionScratchBytes(const ImageConvolution& job, int num_threads);
struct ImageConvolutionTable {
  Isa isa;
  // One row of the result. `rows`: those that the window meets, in the order of the weights, as float32.
  void (*row)(const ImageConvolution& job, const float* rows, const float* packed, const float* bias, void* y);
};
const ImageConvolutionTable* ImageConvolutionGeneric();
// Null where the compiler was not told to make code for it.
const ImageConvolutionTable* ImageConvolutionAvx2();
const ImageConvolutionTable* ImageConvolutionAvx512();
const ImageConvolutionTable& ActiveImageConvolution();

// `bias`, out_channels numbers, may be null. Bits do not depend on the number of threads of the scope, which is at most
// that of the scratch memory.
void RunImageConvolution(const ImageConvolution& job, const void* x, const float* packed, const float* bias, void* y,
                         void* scratch, const ImageConvolutionTable& table = ActiveImageConvolution());

}  // namespace amp::kernels
