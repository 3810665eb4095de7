// Sums in which large terms cancel, so that the errors of the terms are those of a small result.
#pragma once

#include <vector>

#include "nnvm/graph.h"

namespace amp {

// Says for each node whether it adds or subtracts a product of two tensors and the sum of the squares of one of them
// (distances as x^2 - 2xy + y^2), or subtracts products of the same two tensors. Found by data flow, through operators
// that move or scale data, in linear time.
std::vector<bool> FindCancellations(const Graph& graph);

}  // namespace amp
