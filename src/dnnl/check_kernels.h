// CheckKernels: kernels of low precision that a plan is to use are compared with float32 when they are first used on a
// machine.
#pragma once

#include <string>
#include <vector>

#include "dnnl/laid_out_program.h"
#include "program/kernel_record.h"
#include "program/layer_decision.h"

namespace amp::onednn {

// The name in a KernelRecord of what computes step i: the kind, oneDNN's implementation or that of an own kernel, and
// the dtypes that matter. "" where it does not compute in low precision.
std::string RecordedKernel(const LaidOutProgram& program, std::size_t i);

// Runs kernels of the program that the record does not know on small tensors of odd sizes, within a budget of CPU time,
// and notes which are right. What finds no time stays unknown. `decisions` say what own layer kernels compute.
void CheckKernels(const LaidOutProgram& program, const std::vector<LayerDecision>& decisions, KernelRecord* record);

}  // namespace amp::onednn
