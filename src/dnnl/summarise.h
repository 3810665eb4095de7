// What people and profiles learn of a plan.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dnnl/compiled_plan.h"
#include "dnnl/plan.h"
#include "passes/model.h"

namespace amp::onednn {

// `model` is the one that the program was lowered from. `why_float32`: of nodes that read bfloat16 and are computed in
// float32.
PlanSummary Summarise(const Model& model, const LaidOutProgram& program, const CompiledPlan& plan,
                      std::size_t constant_bytes, const std::map<NodeId, std::string>& why_float32);

// The features of each step.
std::vector<StepFeatures> FeaturesOf(const LaidOutProgram& program);

}  // namespace amp::onednn
