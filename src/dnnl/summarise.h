// What people and profiles learn of a plan.
#pragma once

#include <vector>

#include "dnnl/compiled_plan.h"
#include "dnnl/plan.h"
#include "nnvm/graph.h"

namespace amp::onednn {

// `graph` is the one that the program was lowered from.
PlanSummary Summarise(const Graph& graph, const LaidOutProgram& program, const CompiledPlan& plan,
                      std::size_t constant_bytes);

// The features of each step.
std::vector<StepFeatures> FeaturesOf(const LaidOutProgram& program);

}  // namespace amp::onednn
