// Where low precision is storage only, and arithmetic happens in float32 between our own conversions.
#pragma once

#include <vector>

#include "program/lower_context.h"

namespace amp {

class Emulation {
 public:
  explicit Emulation(bool native_bf16) : native_bf16_(native_bf16) {}

  // No primitive computes in this dtype here.
  bool IsEmulated(DType dtype) const {
    return dtype == DType::kFloat16 || (dtype == DType::kBFloat16 && !native_bf16_);
  }
  // The type as which a primitive sees a tensor of this one.
  TensorType Widened(TensorType type) const;
  // The node must run between casts.
  bool IsNeededFor(const LowerContext& context) const;

 private:
  bool native_bf16_;
};

// The node computes in dtypes that primitives know, or that can be emulated.
bool ComputesInKnownDTypes(const LowerContext& context);

// Operands of a sum in float32 and a result in less: no primitive does that.
bool IsNarrowing(const Node& node, const std::vector<TensorType>& in, const std::vector<TensorType>& out);

}  // namespace amp
