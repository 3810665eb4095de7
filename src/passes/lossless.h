#pragma once

#include "nnvm/dtype.h"

namespace amp {

// Does every value of the float dtype `from` exist in `to`?
inline bool IsLossless(DType from, DType to) {
  return IsFloat(from) && (from == to || (IsLowPrecision(from) && (to == DType::kFloat32 || to == DType::kFloat64)) ||
                           (from == DType::kFloat32 && to == DType::kFloat64));
}

}  // namespace amp
