// Says which nodes of an imported training graph are of the backward phase.
#pragma once

#include <string>
#include <vector>

#include "nnvm/symbol.h"

namespace amp {

// The symbol whose nodes are backward exactly where they descend from the boundary: nodes by name, such as the
// variables that hold gradients of outputs, or the operator between forward and backward, which is marked itself. What
// subgraphs of a marked node hold is marked, too. An empty boundary takes all marks away. Throws ArgumentError for
// names that the symbol does not have.
Symbol MarkBackward(const Symbol& symbol, const std::vector<std::string>& boundary);

// Whether nodes of the graph are of the backward phase.
bool HasGradients(const Graph& graph);

}  // namespace amp
