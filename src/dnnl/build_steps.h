// BuildSteps: primitives and own kernels for a program whose layouts are final.
#pragma once

#include <memory>

#include "dnnl/compile.h"
#include "dnnl/compiled_plan.h"

namespace amp::onednn {

// Everything but where the memory is. Scratch memory becomes values of the program.
// The times of options.machine say which alternate implementation is the faster one; without a machine, scaling is.
std::shared_ptr<CompiledPlan> BuildSteps(LaidOutProgram* program, const CompileOptions& options);

}  // namespace amp::onednn
