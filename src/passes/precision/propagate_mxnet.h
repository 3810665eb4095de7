#pragma once

#include <vector>

#include "passes/precision/decision.h"
#include "passes/precision/propagation.h"

namespace amp {

// Policy mxnet: MXNet's rules over its published lists. Sets Decision::low and the reasons of neutral nodes.
void PropagatePrecisionMXNet(const PropagationContext& context, Decision* decision);

}  // namespace amp
