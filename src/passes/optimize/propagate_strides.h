// PropagateStrides: positions that nothing reads are not computed.
#pragma once

#include "nnvm/rewriter.h"
#include "passes/model.h"

namespace amp {

// Where every reader of a tensor reads each s-th position only (a window of one element, without padding, that moves in
// steps of s), the tensor is made with those positions alone. The stride passes through elementwise operators to their
// operands of the same shape and through windows of one element to what they read; it ends in the stride of the first
// larger window. An operand that others read in full is subsampled by a copy; operands that are broadcast along the
// subsampled axes stay. Outputs of the graph keep their values. What depends on parameters alone
// stays: it has to be the same for all shapes.
RewriteResult PropagateStrides(const Model& model);

}  // namespace amp
