// FuseGates: a tensor times a function of itself (swish, hard swish, mish) as one elementwise function.
#pragma once

#include "program/step_graph.h"

namespace amp {

void FuseSwishPatterns(StepGraph* graph);

}  // namespace amp
