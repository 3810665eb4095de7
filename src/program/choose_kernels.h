// ChooseKernels: which layers our own kernels compute, and how.
#pragma once

#include <vector>

#include "program/kernel_chooser.h"
#include "program/layer_decision.h"
#include "program/machine_capabilities.h"
#include "program/machine_table.h"
#include "program/step.h"

namespace amp {

// Asks the chooser wherever layer kernels match (layer_kernel.h): first how each step is computed by itself, then
// whether it takes steps before it. Results are rounded in another way, so this is for mode fast: of Winograd's
// algorithm sums in float32 lose up to ten times as much as a direct convolution's, which is still less than a
// hundredth of what bfloat16 rounds; tiles of int16 lose less than bfloat16 operands do. Matrix products
// of 1x1 convolutions lose no more than oneDNN's; a scale and shift before them is computed while their rows are
// packed, and not rounded to its dtype in between. `machine` predicts times; null: none are predicted. `num_threads`
// are those of runs.
std::vector<LayerDecision> ChooseKernels(const KernelChooser& chooser, const MachineCapabilities& capabilities,
                                         const MachineTable* machine, Program* program, int num_threads = 1);

}  // namespace amp
