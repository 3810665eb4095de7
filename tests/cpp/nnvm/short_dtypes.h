// Short names of the dtypes that tests of costs are full of.
#pragma once

#include "nnvm/dtype.h"

namespace amp::testing {

inline constexpr DType kF32 = DType::kFloat32, kBF16 = DType::kBFloat16, kF16 = DType::kFloat16;

}  // namespace amp::testing
