// The kernel of operators that draw numbers of distributions.
#pragma once

#include <span>

#include "nnvm/shape.h"
#include "ops/common/distributions.h"

namespace amp {

// Fills an array of `type`. Each element of a parameter is that of as many elements of the output that follow each
// other: one element that of all.
void FillSampled(const Distribution& distribution, const kernels::RandomStream& stream, std::span<const double> first,
                 std::span<const double> second, const TensorType& type, void* out);

}  // namespace amp
