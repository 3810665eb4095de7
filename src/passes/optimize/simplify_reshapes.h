// SimplifyReshapes: chains of reshapes and transpositions become one each, or none.
#pragma once

#include "nnvm/rewriter.h"
#include "passes/model.h"

namespace amp {

// A view of a view reads what that one reads, as a Reshape to the shape that comes out; transpositions in a row become
// one; one that only moves axes of size 1 is a view. What then changes nothing is left out. What
// depends on parameters alone stays: plans of several shapes share it. Outputs of the graph stay what they are; the
// result is right for the model's shapes only, and there is nothing left for a second run.
RewriteResult SimplifyReshapes(const Model& model);

}  // namespace amp
