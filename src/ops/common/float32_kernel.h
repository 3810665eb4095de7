// Lowering to kernels that lack a float dtype.
#pragma once

#include <optional>

#include "program/lower_context.h"

namespace amp {

// The dtype in which kernels of float32 and bfloat16 compute values of `dtype`: float16 is storage.
inline DType ComputedDType(DType dtype) { return dtype == DType::kFloat16 ? DType::kFloat32 : dtype; }

// Output 0 is what the kernel makes of all inputs, or of the first ones. Inputs of other float dtypes are cast before
// it, and the result behind it: it is rounded once. False where an input or the output is none that float32 holds.
bool LowerInFloat32(LowerContext& c, KernelSpec kernel, std::optional<int> num_inputs = std::nullopt);

}  // namespace amp
