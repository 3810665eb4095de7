// Convolutions and dense layers that our own matrix products compute, as these see them.
#pragma once

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/image_convolution.h"
#include "program/step.h"

namespace amp {

// Whether a matrix product can compute the convolution: 1x1, no groups, no padding.
bool IsForGemm(const StepSpec& spec, const StepTypes& types);
// The same of a larger window.
bool IsForImplicitGemm(const StepSpec& spec, const StepTypes& types);
// Whether one can compute a dense layer, and is known to gain.
bool IsForDense(const StepTypes& types, DType dtype);
// The same of a convolution of images with few channels: no groups, no dilation.
bool IsForImageConvolution(const StepSpec& spec, const StepTypes& types);
// Whether Strassen's algorithm may gain: with few rows or channels it never does.
bool IsForStrassen(const kernels::Gemm& job);

kernels::ComputeType ComputeTypeOf(DType dtype);

// Sizes, without strides of memory, with those of windows. `dtype` is what is multiplied.
kernels::Gemm GemmProblem(const ConvolutionSpec& spec, const StepTypes& types, DType dtype);
kernels::Gemm DenseProblem(const StepTypes& types, DType dtype);
kernels::ImageConvolution ImageConvolutionProblem(const ConvolutionSpec& spec, const StepTypes& types, DType dtype);
// With max pooling of its results: see kernels::ImagePool. `shape`: of what pooling gives.
kernels::ImageConvolution WithPool(const kernels::ImageConvolution& job, const PoolingSpec& pool, const Shape& shape);

// So many multiplications and additions take as long.
double GemmFlops(const kernels::Gemm& job, bool scales);
double ImageConvolutionFlops(const kernels::ImageConvolution& job);
// Of an image: rows and columns.
inline std::pair<std::int64_t, std::int64_t> LastTwo(const IntTuple& values) {
  return {values[values.size() - 2], values.back()};
}
// Channels, where vectors compute them.
double InVectors(std::int64_t channels);

}  // namespace amp
