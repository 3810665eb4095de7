// Convolutions and dense layers that our own matrix products compute, as these see them.
#pragma once

#include "kernels/image_convolution.h"
#include "kernels/pointwise.h"
#include "program/convolution_finish.h"
#include "program/step.h"

namespace amp {

// Whether the kernel can compute the step: 1x1, no groups, no padding, dtypes and post-ops that it knows.
bool IsForPointwise(const Step& step, const StepTypes& types);

// The same of a larger window.
bool IsForWindows(const Step& step, const StepTypes& types);

// The same of a dense layer.
bool IsForDense(const Step& step, const StepTypes& types);

// The same of a convolution of images with few channels: no groups, no gaps.
bool IsForImageConvolution(const Step& step, const StepTypes& types);

// Whether Strassen's algorithm may gain: with few rows or channels it never does.
bool IsForStrassen(const kernels::Pointwise& job);

kernels::Multiplies MultipliesOf(DType dtype);

// Sizes, without strides of memory, with those of windows; the dtype of products is that which the spec names, else
// float32.
kernels::Pointwise PointwiseJob(const ConvolutionSpec& spec, const StepTypes& types);
kernels::ImageConvolution ImageConvolutionJob(const ConvolutionSpec& spec, const StepTypes& types);
kernels::Pointwise DenseJob(const InnerProductSpec& spec, const StepTypes& types);

// Of weights (O, C, height, width).
kernels::PointwiseWindow WindowOfWeights(const Shape& weights);

// A vector holds 16 numbers, however many channels fill it.
double InVectors(std::int64_t channels);

// So many multiplications and additions take as long, all that the kernel does included. `scales`: its source, before.
double PointwiseFlops(const kernels::Pointwise& job, bool scales);
double ImageConvolutionFlops(const kernels::ImageConvolution& job);

}  // namespace amp
