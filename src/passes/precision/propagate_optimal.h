#pragma once

#include <vector>

#include "passes/precision/cost.h"
#include "passes/precision/decision.h"
#include "passes/precision/propagation.h"

namespace amp {

// Policy optimal: a minimum cut between float32 and low precision. Makes the predicted time of a run as small as
// possible, or without `costs` the number of amp_casts. Of several best decisions it takes the one with the fewest low
// nodes and tensors, which is one alone. Sets Decision::low, the reasons of nodes that it decides, which outputs of
// accumulating nodes are better float32, and the certificate. With ConvertOptions::accuracy it sets Decision::errors
// instead of that: the search meets the limit, and may not find the least of all costs.
void PropagatePrecisionOptimal(const PropagationContext& context, const PrecisionCosts* costs, Decision* decision,
                               std::vector<bool>* writes_float32);

}  // namespace amp
