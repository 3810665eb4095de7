// Fused nodes that the caller names: what they stand for is meant.
#pragma once

#include "nnvm/graph.h"
#include "passes/precision/convert_options.h"

namespace amp {

// Marks every fused node that an entry of `options->excluded` names or describes with the constraint DisableAMP, which
// Unfuse hands on to the nodes inside. Entries that mean fused nodes alone are taken out of the list.
Graph ExcludeFused(Graph graph, ConvertOptions* options);

}  // namespace amp
