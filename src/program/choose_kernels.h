// ChooseKernels: which layers our own kernels compute, and how.
#pragma once

#include <vector>

#include "program/kernel_chooser.h"
#include "program/machine_table.h"
#include "program/step.h"

namespace amp {

struct KernelConditions {
  const MachineTable* machine = nullptr;  // null: no times are predicted
  bool has_bf16 = false;                  // there is code that multiplies bfloat16
  bool library_is_channels_last = false;  // its convolutions of images read and write channels last
  int num_threads = 1;                    // of runs
  bool has_int16 = false;                 // there is code that multiplies int16
  bool has_tiles = false;                 // there is code that multiplies bfloat16 by tile registers
  bool library_has_bf16 = true;           // else it computes in float32 between casts
};

// Asks the chooser wherever there are candidates (kernel_candidates.h): first how each step is computed by itself, then
// whether it takes steps before it. Results are rounded in another way, so this is for mode fast: of Winograd's
// algorithm sums in float32 lose up to ten times as much as a direct convolution's, which is still less than a
// hundredth of what bfloat16 rounds; tiles of int16 lose less than bfloat16 operands do. Matrix products
// of 1x1 convolutions lose no more than the library's; a scale and shift before them is computed while their rows are
// packed, and not rounded to its dtype in between.
std::vector<LayerDecision> ChooseKernels(const KernelChooser& chooser, const KernelConditions& conditions,
                                         Program* program);

}  // namespace amp
