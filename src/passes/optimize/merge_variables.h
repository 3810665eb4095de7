// Variables of one name are one.
#pragma once

#include "nnvm/graph.h"

namespace amp {

// Parameters and inputs are bound by name, so two variables of one name hold the same array: the first of them stands
// for all. The same graph where names are unique.
Graph MergeVariables(Graph graph);

}  // namespace amp
