// Convolutions over images of few channels, as our own kernel sees them.
#pragma once

#include "kernels/image_convolution.h"
#include "program/step.h"

namespace amp {

// Whether the kernel can compute the step: few channels, no groups, dtypes and post-ops that it knows.
bool IsForImageKernel(const Step& step, const StepTypes& types);

// Sizes, bounds and dtypes, without strides of memory.
kernels::ImageConvolution ImageJob(const Step& step, const StepTypes& types);

}  // namespace amp
