// PlanMemory: the place of every value.
#pragma once

#include "dnnl/compiled_plan.h"

namespace amp::onednn {

// Gives every value of the plan, which was made of the program, its place: callers' memory, a constant, or the arena by
// liveness, in place where that is legal.
void PlanMemory(LaidOutProgram program, CompiledPlan* plan);

}  // namespace amp::onednn
