// ComposeViews: chains of reshapes and transpositions become one each, or none.
#pragma once

#include <vector>

#include "nnvm/rewriter.h"
#include "passes/infer.h"

namespace amp {

// A view of a view reads what that one reads, as a Reshape to the shape that comes out; transpositions in a row become
// one; one that only moves axes of size 1 is a view. What then changes nothing is left out. `constant`, by NodeId, says
// what depends on parameters alone: it stays, for plans of several shapes share it. Heads stay what they are; the
// result is right for the shapes in `types` only, and there is nothing left for a second run.
RewriteResult ComposeViews(const Graph& graph, const Types& types, const std::vector<bool>& constant);

}  // namespace amp
