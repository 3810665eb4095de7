// The kernel that softmax and SoftmaxOutput share.
#pragma once

#include <cstdint>
#include <vector>

#include "nnvm/ndarray.h"

namespace amp {

// `lengths`, where not empty, has one entry for each line along the axis.
void SoftmaxReference(const NDArray& in, int axis, double temperature, const std::vector<std::int64_t>& lengths,
                      NDArray& out, bool logarithm = false);

}  // namespace amp
