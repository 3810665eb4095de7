// The numbers that dropout multiplies with.
#pragma once

#include <cstdint>

#include "kernels/base/cpu.h"
#include "kernels/elementwise/random.h"

namespace amp::kernels {

// Number i is 0 where the i-th of the stream, taken as a fraction of 2^32, is below p, else `kept`.
struct DropoutMask {
  double p = 0;
  float kept = 1;
};

// Splits the mask among the threads of the scope (ParallelFor); the result depends neither on their number nor on the
// instruction set. Allocates nothing.
void RunDropoutMask(const DropoutMask& job, const RandomStream& stream, std::int64_t count, float* mask);

struct DropoutMaskTable {
  Isa isa;
  // What belongs to `blocks` blocks of four numbers of the stream, from block `first` on.
  void (*blocks)(const DropoutMask& job, const RandomStream& stream, std::int64_t first, std::int64_t blocks,
                 float* mask);

  static const DropoutMaskTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
