// The casts that have hand-written vector code, as one table of functions per instruction set.
//
// The translation units behind CastTable::Avx2 and CastTable::Avx512 are compiled with flags that not
// every CPU supports. They contain intrinsics and functions of internal linkage only: an inline
// function of the standard library or of this one, instantiated there, could become the copy that the
// linker keeps for the whole program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/cpu.h"

namespace amp::kernels {

struct CastTable {
  Isa isa;
  void (*float_to_bf16)(const void* src, void* dst, std::size_t count);
  void (*bf16_to_float)(const void* src, void* dst, std::size_t count);
  void (*float_to_half)(const void* src, void* dst, std::size_t count);
  void (*half_to_float)(const void* src, void* dst, std::size_t count);

  static const CastTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
