#pragma once

#include <vector>

#include "passes/precision/decision.h"
#include "passes/precision/propagation.h"

namespace amp {

// Policy graphamp: demand, from the outputs upstream, in one pass. Sets Decision::low, the reasons of nodes in category
// infer, and which outputs of accumulating nodes are to be float32.
//
// A tensor is wanted low where it is float32, does not count as integers, is read, and all that read it read it low; an
// output of the model is read in the dtype that it is to have. Category allow (PrecisionCategory::kLow) reads low;
// infer (kNeutral) is low where all of its results that can be low are wanted low; all others read what they read
// before.
void PropagatePrecisionGraphAmp(const PropagationContext& context, Decision* decision,
                                std::vector<bool>* writes_float32);

}  // namespace amp
