// Convolutions and deconvolutions that our own kernel computes by Winograd's algorithm, as it sees them.
#pragma once

#include "kernels/winograd.h"
#include "program/convolution_finish.h"
#include "program/step.h"

namespace amp {

// Whether the kernel can compute the step: the kind's window, stride 1, gaps that divide the image evenly, dtypes and
// post-ops that it knows. Deconvolutions may have strides that divide their results evenly.
bool IsForWinograd(const Step& step, const StepTypes& types, kernels::WinogradKind kind);

// Whether the kernel sees the image with its axes exchanged: windows that are columns are lines to it.
bool HasAxesExchanged(const StepTypes& types);

// Sizes, without strides of memory; of the kind that the spec names, else F(4x4).
kernels::Winograd WinogradJob(const ConvolutionSpec& spec, const StepTypes& types);
kernels::Winograd WinogradJob(const DeconvolutionSpec& spec, const StepTypes& types);
kernels::Winograd WinogradJob(const Step& step, const StepTypes& types);
// As the packed weights of the second input's shape are.
kernels::Winograd WinogradJob(const WinogradWeightsSpec& spec, const Shape& weights);

// What transforms the weights of a step that names a kind.
std::optional<WinogradWeightsSpec> WinogradWeightsOf(const Step& step);

// So many multiplications and additions take as long, transforms included.
double WinogradFlops(const kernels::Winograd& job);

}  // namespace amp
