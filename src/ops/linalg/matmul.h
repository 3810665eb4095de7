// The kernel that matrix products and attention share.
#pragma once

#include "nnvm/ndarray.h"
#include "nnvm/node.h"

namespace amp {

// out (B, M, N) = scale * a (B, M, K) b (B, K, N); a and b have one float dtype, out has any.
void MatMulReference(const NDArray& a, const NDArray& b, double scale, NDArray& out);

// out = a b, in tiles where the node's attributes say so (passes/tiling_accumulation.h); then `bias` (N) is added,
// where it is defined.
void ProductReference(const Node& node, const NDArray& a, const NDArray& b, const NDArray& bias, NDArray& out);

}  // namespace amp
