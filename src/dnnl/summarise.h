// What people and profiles learn of a plan.
#pragma once

#include <vector>

#include "dnnl/compiled_plan.h"
#include "dnnl/plan.h"
#include "passes/model.h"

namespace amp::onednn {

// `model` is the one that the program was lowered from. `is_native`: bfloat16 is computed as such, but where float32 is
// faster.
PlanSummary Summarise(const Model& model, const LaidOutProgram& program, const CompiledPlan& plan,
                      std::size_t constant_bytes, bool is_native);

// The features of each step.
std::vector<StepFeatures> FeaturesOf(const LaidOutProgram& program);

}  // namespace amp::onednn
