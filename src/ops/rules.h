// Inference rules that many cards share.
#pragma once

#include "passes/infer.h"

namespace amp {

inline ShapeRule SameShape() {
  return {[](ShapeRelation& r) { r.AllSame(); }};
}
inline DTypeRule SameDType() {
  return {[](DTypeRelation& r) { r.AllSame(); }};
}
inline DTypeRule SameFloatDType() {
  return {[](DTypeRelation& r) {
    r.AllSame();
    for (int i = 0; i < r.num_inputs(); ++i) r.InIsFloat(i);
  }};
}

}  // namespace amp
