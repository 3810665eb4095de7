// PropagateStrides: what nobody reads is not computed.
#pragma once

#include <vector>

#include "nnvm/rewriter.h"
#include "passes/infer.h"

namespace amp {

// Where every reader of a tensor reads each s-th position only (a window of one element, without padding, that moves in
// steps of s), the tensor is made with those positions alone. The stride passes through pointwise operators to their
// operands of the same shape and through windows of one element to what they read; it ends in the stride of the first
// larger window. An operand that others read in full is thinned out by a copy; operands that are broadcast along the
// thinned axes stay. Heads keep their values; `constant`, by NodeId, says what depends on parameters alone and has to
// be the same for all shapes.
RewriteResult PropagateStrides(const Graph& graph, const Types& types, const std::vector<bool>& constant);

}  // namespace amp
