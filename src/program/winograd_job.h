// Convolutions that our own kernel computes by Winograd's algorithm, as it sees them.
#pragma once

#include <optional>

#include "kernels/winograd.h"
#include "program/step.h"

namespace amp {

// What the kernel does with its result.
struct WinogradFinish {
  std::optional<std::size_t> sum;  // the place of the image that is added, among the step's inputs
  float low = 0, high = 0;
};

// Nothing where the kernel does not know the post-ops: it adds an image and then clips.
std::optional<WinogradFinish> WinogradFinishOf(const Step& step, const StepTypes& types);

// Whether the kernel can compute the step: 3x3, stride 1, no gaps, dtypes and post-ops that it knows.
bool IsForWinograd(const Step& step, const StepTypes& types);

// Sizes, without strides of memory; of the kind that the spec names, else F(4x4).
kernels::Winograd WinogradJob(const ConvolutionSpec& spec, const StepTypes& types);

// So many multiplications and additions take as long, transforms included.
double WinogradFlops(const kernels::Winograd& job);

}  // namespace amp
