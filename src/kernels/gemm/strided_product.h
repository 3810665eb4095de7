// Products of small float32 matrices that change in each run, so that packing them does not pay.
#pragma once

#include <cstdint>

#include "kernels/base/cpu.h"

namespace amp::kernels {

// c = a b for a (rows, length) and b (length, columns); or c += a b. Element (i, k) of `a` lies i * a_row + k *
// a_column numbers behind its beginning; rows of b and c are dense.
struct StridedProduct {
  std::int64_t rows = 0, columns = 0, length = 0;
  std::int64_t a_row = 0, a_column = 1, b_row = 0, c_row = 0;
  bool adds = false;
};

// Splits c among the threads of the scope (ParallelFor); the result does not depend on their number. Allocates nothing.
void RunStridedProduct(const StridedProduct& job, const float* a, const float* b, float* c);

struct StridedProductTable {
  Isa isa;
  // On the calling thread.
  void (*run)(const StridedProduct& job, const float* a, const float* b, float* c);

  static const StridedProductTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
