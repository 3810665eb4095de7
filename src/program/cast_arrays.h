// Arrays in another dtype, by the kernel that amp_cast runs on.
#pragma once

#include <map>
#include <string>

#include "nnvm/params_file.h"

namespace amp {

// `array` with its elements cast as amp_cast casts them (see kernels/elementwise/cast.h); the array itself where it has
// that dtype.
NDArray CastArray(const NDArray& array, DType dtype);

// Replaces the arrays that `casts` names by their casts. Throws ArgumentError for a name without an array.
void CastArrays(const std::map<std::string, DType>& casts, ModelParams* params);

}  // namespace amp
