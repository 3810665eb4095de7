// What a step has to compute, read and write, whatever it takes for that.
#pragma once

#include <cstddef>

#include "nnvm/dtype.h"

namespace amp {

struct Step;
struct StepTypes;
struct TensorType;

struct StepCost {
  double flops = 0;  // of sums of products, a multiplication and an addition counted as two; 0 for all others
  // The bytes of operands and results, each once and whole (a lookup reads less).
  std::size_t bytes_read = 0, bytes_written = 0;
  DType dtype = DType::kUnknown;  // of the first operand, or in which an own kernel multiplies

  std::size_t bytes() const { return bytes_read + bytes_written; }
};

// The number of elements, for arithmetic in double.
double NumElements(const TensorType& type);

// Whose speed tells how long products of such numbers take: flops of int16 are counted as those of float32.
DType PeakOf(DType multiplied);

// Views cost nothing.
StepCost CostOf(const Step& step, const StepTypes& types);

}  // namespace amp
