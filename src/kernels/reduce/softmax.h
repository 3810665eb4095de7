// Softmax along any axis of row-major arrays, in float32.
#pragma once

#include <cstdint>

#include "kernels/base/cpu.h"

namespace amp::kernels {

// y = exp(scale * x) normalised to sum 1 along an axis of `size` elements, which lie `inner` apart, or the logarithm of
// that. Rounded once to y's type.
struct Softmax {
  std::int64_t outer = 1, size = 1, inner = 1;
  float scale = 1;
  bool logarithm = false;
  // Elements of -inf are hidden: a line of nothing else is 0, or -inf as logarithms, and not NaN.
  bool hides = false;
  bool x_is_bf16 = false;  // else float32
  bool y_is_bf16 = false;
};

// `lengths`, where not null, has for each line the number of elements that take part; the others become 0. Only where
// `inner` is 1. y may be x where both have one type. Splits lines among the threads of the scope (ParallelFor); the
// result does not depend on their number. Allocates nothing.
void RunSoftmax(const Softmax& job, const void* x, const std::int64_t* lengths, void* y);

// Lines side by side: `rows` rows of `width` elements, `stride` apart, then one of `rest` elements. Elements of a row
// that are `period` apart belong to one line; width / period is a power of two.
struct SoftmaxBlock {
  static constexpr std::int64_t kMaxWidth = 1024;

  std::int64_t rows = 0, stride = 0, width = 0, rest = 0, period = 1;
};

struct SoftmaxTable {
  Isa isa;
  void (*block)(const Softmax& job, const SoftmaxBlock& block, const void* x, void* y);

  static const SoftmaxTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
