// ChooseKernels: which convolutions our own kernels compute, and how.
#pragma once

#include "program/machine_table.h"
#include "program/step.h"

namespace amp {

// Where times of the machine say that it pays: the fastest. Weights have to be constants. Results are rounded in
// another way, so this is for mode fast: of Winograd's algorithm sums in float32 lose up to ten times as much as a
// direct convolution's, which is still less than a hundredth of what bfloat16 rounds; bfloat16 tiles lose 1.6 to 1.9
// times as much as bfloat16 operands. Matrix products of 1x1 convolutions lose no more than the library's; a scale and
// shift before them is computed while their rows are packed, and not rounded to its dtype in between.
// `has_bf16`: whether there is code that multiplies bfloat16.
void ChooseKernels(const MachineTable& machine, bool has_bf16, Program* program);

}  // namespace amp
