#pragma once

#include <vector>

#include "passes/precision/decision.h"
#include "passes/precision/propagation.h"

namespace amp {

// Policy default: facts, forwards and backwards. Sets Decision::low, the reasons of neutral nodes, and which outputs of
// accumulating nodes are better float32.
void PropagatePrecisionDefault(const PropagationContext& context, Decision* decision,
                               std::vector<bool>* writes_float32);

}  // namespace amp
