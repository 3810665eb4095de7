// The reference kernel of an operator: obvious loops on row-major arrays, float32 accumulation, one rounding.
#pragma once

#include <functional>
#include <span>

#include "nnvm/ndarray.h"
#include "nnvm/node.h"

namespace amp {

// Inputs and outputs have the inferred types; outputs that no node reads are undefined arrays and are to be skipped,
// as are inputs that the operator ignores.
struct ReferenceKernel {
  std::function<void(const Node& node, std::span<const NDArray> inputs, std::span<NDArray> outputs)> run;
};

}  // namespace amp
