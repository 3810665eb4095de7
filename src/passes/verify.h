// Graph invariants. Immutable nodes make most violations impossible; these remain.
#pragma once

#include <string>

#include "passes/infer.h"

namespace amp {

// Invariants:
//   V1  every node agrees with its operator's schema (number of inputs, existing outputs)
//   V2  a state feeds mutable slots only, and only variables feed mutable slots
//   V3  no two variables of one graph have the same name
//   V4  an operator has rules for shapes and dtypes
//   V5  nothing of the forward phase reads the backward phase, and no fused node of it stands for a part of that
//   V6  `types`, where given, are complete and are a fixed point of every rule
// Returns the violations, one line each; "" for a valid graph.
std::string FindViolations(const Graph& graph, const Types* types = nullptr);

// Throws InternalError that names `stage` and lists all violations. Costs nothing unless AMP_VERIFY is set.
void VerifyAfter(const char* stage, const Graph& graph, const Types* types = nullptr);

}  // namespace amp
