// BuildSteps: primitives and own kernels for a program whose layouts are final.
#pragma once

#include <memory>

#include "dnnl/compiled_plan.h"

namespace amp {
class MachineTable;
}  // namespace amp

namespace amp::onednn {

// Everything but where the memory is. Scratch memory becomes values of the program.
// `machine`: its times say which alternate implementation is the faster one; null: scaling is.
std::shared_ptr<CompiledPlan> BuildSteps(LaidOutProgram* program, const MachineTable* machine);

}  // namespace amp::onednn
