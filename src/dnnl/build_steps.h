// BuildSteps: primitives and own kernels for a program whose layouts are final.
#pragma once

#include <memory>

#include "dnnl/compiled_plan.h"

namespace amp::onednn {

// Everything but where the memory is. Scratch memory becomes values of the program.
std::shared_ptr<CompiledPlan> BuildSteps(LaidOutProgram* program);

}  // namespace amp::onednn
