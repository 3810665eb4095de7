// Operands of MXNet 2.0's functions: floats beside integers, floats of two widths.
#pragma once

#include "passes/infer.h"

namespace amp {

inline bool IsUnsigned(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kUInt16 || dtype == DType::kUInt32 || dtype == DType::kUInt64;
}

// The smallest integer dtype that holds both; int64 where there is none, for uint64 beside a signed one.
inline DType CommonInteger(DType a, DType b) {
  if (a == DType::kBool || b == DType::kBool) return a == DType::kBool ? b : a;
  if (IsUnsigned(a) == IsUnsigned(b)) return BytesOf(a) >= BytesOf(b) ? a : b;
  const DType with_sign = IsUnsigned(a) ? b : a, without = IsUnsigned(a) ? a : b;
  if (BytesOf(with_sign) > BytesOf(without)) return with_sign;
  if (BytesOf(without) > 2) return DType::kInt64;
  return BytesOf(without) == 1 ? DType::kInt16 : DType::kInt32;
}

// NumPy's promotion, except that floats beside integers decide alone, as in MXNet: float32 beside int64 is float32.
inline DType CommonDType(DType a, DType b) {
  if (IsFloat(a) && IsFloat(b)) return WidestFloat(a, b);
  if (IsFloat(a) != IsFloat(b)) return IsFloat(a) ? a : b;
  return CommonInteger(a, b);
}

// Where one dtype is unknown, the operands have one: so assumes MXNet. Returns whether both are known.
inline bool KnowOperands(DTypeRelation& r) {
  if (IsKnown(r.in(0)) != IsKnown(r.in(1))) r.Same({0, 1}, {});
  return IsKnown(r.in(0));
}

}  // namespace amp
