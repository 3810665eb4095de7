// Lowering to kernels that know float32 only.
#pragma once

#include <optional>

#include "program/lower_context.h"

namespace amp {

// Output 0 is what the kernel makes of all inputs, or of the first ones. Inputs of other float dtypes are cast before
// it, and the result behind it: it is rounded once. False where an input or the output is none that float32 holds.
bool LowerInFloat32(LowerContext& c, KernelSpec kernel, std::optional<int> num_inputs = std::nullopt);

}  // namespace amp
