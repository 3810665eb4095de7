// Operands of MXNet 2.0's functions: floats beside integers, floats of two widths.
#pragma once

#include "passes/infer.h"

namespace amp {

// Both of one kind: that dtype, the wider one of two floats, the larger one of two integers, of which bool is the
// smallest. Otherwise the float.
inline DType CommonDType(DType a, DType b) {
  if (IsFloat(a) && IsFloat(b)) return WidestFloat(a, b);
  if (IsFloat(a) != IsFloat(b)) return IsFloat(a) ? a : b;
  if (a == DType::kBool) return b;
  return BytesOf(a) >= BytesOf(b) || b == DType::kBool ? a : b;
}

// Where one dtype is unknown, the operands have one: so assumes MXNet. Returns whether both are known.
inline bool KnowOperands(DTypeRelation& r) {
  if (IsKnown(r.in(0)) != IsKnown(r.in(1))) r.Same({0, 1}, {});
  return IsKnown(r.in(0));
}

}  // namespace amp
