// Exact reductions of integers and truth values.
#pragma once

#include <cstdint>

#include "kernels/elementwise/cast.h"

namespace amp::kernels {

enum class IntegerOp : std::uint8_t {
  kSum,  // modulo 2^64, as the product is
  kProduct,
  kMax,
  kMin,
  kAny,  // whether an element is not 0; of float32, too
  kAll,
};

struct IntegerReduce {
  IntegerOp op = IntegerOp::kSum;
  ElementType type = ElementType::kInt64;
  std::int64_t outer = 1, count = 1, inner = 1;  // over the middle axis of (outer, count, inner)

  static bool IsType(ElementType type, IntegerOp op);
  // y: (outer, inner). Splits the work among the threads of the scope (ParallelFor).
  void Run(const void* x, std::int64_t* y) const;
};

}  // namespace amp::kernels
