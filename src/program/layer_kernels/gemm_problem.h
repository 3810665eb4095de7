// Convolutions and dense layers that our own matrix products compute, as these see them.
#pragma once

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/image_convolution.h"
#include "program/step.h"

namespace amp {

// Whether a matrix product can compute the convolution: 1x1, no groups, no padding.
bool IsForGemm(const StepSpec& spec, const StepTypes& types);
// Whether one can compute a convolution with a larger window.
bool IsForImplicitGemm(const StepSpec& spec, const StepTypes& types);
// Whether one can compute a dense layer, and is known to gain.
bool IsForDense(const StepTypes& types, DType dtype);
// Whether an image kernel can compute the convolution: few channels, no groups, no dilation.
bool IsForImageConvolution(const StepSpec& spec, const StepTypes& types);
// Whether Strassen's algorithm may gain: with few rows or channels it never does.
bool IsForStrassen(const kernels::Gemm& job);

kernels::ComputeType ComputeTypeOf(DType dtype);

// Sizes, without strides of memory, with those of windows. `dtype` is what is multiplied.
kernels::Gemm GemmProblem(const ConvolutionSpec& spec, const StepTypes& types, DType dtype);
kernels::Gemm DenseProblem(const StepTypes& types, DType dtype);
kernels::ImageConvolution ImageConvolutionProblem(const ConvolutionSpec& spec, const StepTypes& types, DType dtype);
// Adds max pooling of its results: see kernels::ImagePool. `shape`: of what pooling gives.
kernels::ImageConvolution WithPool(const kernels::ImageConvolution& job, const PoolingSpec& pool, const Shape& shape);

// The number of multiplications and additions that take as long as the kernel.
double GemmFlops(const kernels::Gemm& job, bool scales);
double ImageConvolutionFlops(const kernels::ImageConvolution& job);
// The last two values, of rows and columns of an image.
inline std::pair<std::int64_t, std::int64_t> LastTwo(const IntTuple& values) {
  return {values[values.size() - 2], values.back()};
}
// Channels, where vectors compute them.
double InVectors(std::int64_t channels);

}  // namespace amp
