// Facts of primitives under oneDNN's names: what a plan means to run, and what a primitive says of itself.
#pragma once

#include <string>
#include <vector>

#include "dnnl/compiled_plan.h"
#include "program/plan_summary.h"

namespace amp::onednn {

// "src", "weights", "post_op_0", ...: the operand that a DNNL_ARG_* stands for.
std::string RoleOf(int arg);

// ---- of plans ----

// oneDNN's name of the kind of primitive that computes such a step.
std::string PrimitiveKindOf(const StepSpec& spec);
// The post-ops that a primitive of the step has, in order.
std::vector<std::string> PostOpNames(const Step& step);

// ---- of what ran ----

// `planned` is the same step as the plan tells it; `memories` go by value. `ran` is what ran in the step's last run.
ExecutedStep Executed(const CompiledStep& step, const PlanStep& planned, const std::vector<dnnl::memory>& memories,
                      Implementation ran);

}  // namespace amp::onednn
