// Lowering to maps.
#pragma once

#include <vector>

#include "program/lower_context.h"

namespace amp {

// The largest rank of arrays that maps walk: an axis may lie in blocks.
inline constexpr int kMaxMapRank = static_cast<int>(kernels::MapWalk::kMaxAxes) / 2;

// Output 0 is what these steps make of the node's inputs, which are broadcast to its shape. False where maps lack one
// of the dtypes; integers and truth values may be `tested_inputs` only, of which nothing but being 0 matters.
bool LowerToMap(LowerContext& c, std::vector<kernels::MapStep> steps, const std::vector<int>& tested_inputs = {});
// Reads inputs in other shapes of the same elements.
bool LowerToMap(LowerContext& c, std::vector<kernels::MapStep> steps, std::vector<ValueId> inputs,
                const std::vector<int>& tested_inputs);

}  // namespace amp
