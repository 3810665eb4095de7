// Convolutions that our own kernel computes by Winograd's algorithm, as it sees them.
#pragma once

#include "kernels/winograd.h"
#include "program/convolution_finish.h"
#include "program/step.h"

namespace amp {

// Whether the kernel can compute the step: 3x3, stride 1, no gaps, dtypes and post-ops that it knows.
bool IsForWinograd(const Step& step, const StepTypes& types);

// Sizes, without strides of memory; of the kind that the spec names, else F(4x4).
kernels::Winograd WinogradJob(const ConvolutionSpec& spec, const StepTypes& types);

// So many multiplications and additions take as long, transforms included.
double WinogradFlops(const kernels::Winograd& job);

}  // namespace amp
