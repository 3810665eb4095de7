// The kernel that matrix products and attention share.
#pragma once

#include "nnvm/ndarray.h"

namespace amp {

// out (B, M, N) = scale * a (B, M, K) b (B, K, N); a and b have one float dtype, out has any.
void MatMulReference(const NDArray& a, const NDArray& b, double scale, NDArray& out);

}  // namespace amp
