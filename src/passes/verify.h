// The laws of a legal graph. Immutable nodes make most breaches impossible; these remain.
#pragma once

#include <string>

#include "passes/infer.h"

namespace amp {

// Laws:
//   V1  every node agrees with its operator's schema (number of inputs, existing outputs)
//   V2  a state feeds mutable slots only, and only variables feed mutable slots
//   V3  no two variables of one graph have the same name
//   V4  an operator has rules for shapes and dtypes
//   V5  nothing of the forward phase reads the backward phase
//   V6  `types`, where given, are complete and are a fixed point of every rule
// Returns the breaches, one line each; "" for a legal graph.
std::string FindBreaches(const Graph& graph, const Types* types = nullptr);

// Throws InternalError that names `stage` and lists all breaches. Costs nothing unless AMP_VERIFY is set.
void VerifyAfter(const char* stage, const Graph& graph, const Types* types = nullptr);

}  // namespace amp
