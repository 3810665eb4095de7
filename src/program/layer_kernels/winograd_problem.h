// Convolutions and deconvolutions that our own kernel computes by Winograd's algorithm, as it sees them.
#pragma once

#include "kernels/winograd/winograd.h"
#include "program/step.h"

namespace amp {

// Whether the kernel can compute the layer: the kind's window, stride 1, gaps that divide the image evenly.
// Deconvolutions may have strides that divide their results evenly.
bool IsForWinograd(const StepSpec& spec, const StepTypes& types, kernels::WinogradKind kind);

// Whether the kernel sees the image with its axes exchanged: windows that are columns are lines to it.
bool HasAxesExchanged(const StepTypes& types);

// Sizes, without strides of memory.
kernels::Winograd WinogradProblem(const StepSpec& spec, const StepTypes& types, kernels::WinogradKind kind);
// What the packing of the weights depends on, and nothing else.
kernels::Winograd WinogradWeightsProblem(const StepSpec& spec, const Shape& weights, kernels::WinogradKind kind);

// The number of multiplications and additions that take as long as the kernel, transforms included.
double WinogradFlops(const kernels::Winograd& job);

}  // namespace amp
