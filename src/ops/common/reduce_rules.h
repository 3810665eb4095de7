// Lowering to reductions.
#pragma once

#include <vector>

#include "kernels/reduce/reduce.h"
#include "program/lower_context.h"

namespace amp {

// Whether all axes are reduced but that of an image's channels: such a sum reads memory as it lies.
bool IsSumOfChannels(const std::vector<bool>& reduced);

// `value` reduced over the named axes: of dtype `out`, and with size 1 along these axes. kNoValue where the kernel
// lacks one of the dtypes.
ValueId EmitReduce(LowerContext& c, ValueId value, kernels::ReduceOp op, kernels::ReduceEpilogue finish,
                   const std::vector<bool>& named, DType out);

// Output 0 is input 0 reduced over the named axes. False where the kernel lacks one of the dtypes.
bool LowerToReduce(LowerContext& c, kernels::ReduceOp op, kernels::ReduceEpilogue finish,
                   const std::vector<bool>& named);

}  // namespace amp
