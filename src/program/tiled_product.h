// Sums of products, in tiles where the node's attributes ask for that (passes/tiling_accumulation.h).
#pragma once

#include <vector>

#include "nnvm/ndarray.h"
#include "program/lower_context.h"

namespace amp {

// The steps of a product and its output. Inputs as MatMulSpec's and InnerProductSpec's: operands and, for the latter,
// maybe a bias. Tiles are products of their own in float32. With accumulator float32 their sum and the bias are added
// up in float32 and rounded once. With bfloat16 the sum is rounded after each tile and after the bias.
ValueId EmitMatMul(LowerContext& c, std::vector<ValueId> inputs, TensorType type);
ValueId EmitInnerProduct(LowerContext& c, std::vector<ValueId> inputs, TensorType type);

// sums = sums + tile in float32, rounded to bfloat16.
void AddRounded(const NDArray& tile, NDArray& sums);

}  // namespace amp
