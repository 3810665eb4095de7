// BuildSteps: primitives and own kernels for a program whose layouts are final.
#pragma once

#include <memory>

#include "dnnl/compiled_plan.h"

namespace amp {
class MachineTable;
}  // namespace amp

namespace amp::onednn {

struct BuildOptions {
  const MachineTable* machine =
      nullptr;                   // its times say which alternate implementation is the faster one; null: scaling
  bool count_denormals = false;  // products count what bfloat16 instructions lose
};

// Everything but where the memory is. Scratch memory becomes values of the program.
std::shared_ptr<CompiledPlan> BuildSteps(LaidOutProgram* program, const BuildOptions& options);

}  // namespace amp::onednn
