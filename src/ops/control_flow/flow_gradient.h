// The gradients of control flow, made of control flow: a loop backwards runs a body that computes the gradients of the
// given one, which it computes again from the states that each step began with.
#pragma once

#include "passes/gradient/gradient_rule.h"

namespace amp {

// Errors of operators without a gradient say which body they are in.
void ForeachGradient(GradientContext& c);
void WhileLoopGradient(GradientContext& c);
void CondGradient(GradientContext& c);

}  // namespace amp
