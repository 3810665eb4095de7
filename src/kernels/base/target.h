// What a file `*_isa.cc` is compiled for. CMake compiles each for several targets (cmake/InstructionSets.cmake):
// `generic`, `avx2` and `avx512`, or those that its first line names. Its code has internal linkage, or names that
// depend on the target: an inline function of the standard library or of this one could become the copy that the linker
// keeps for the whole program.
//
// Defined by CMake: AMP_TARGET (Generic, Avx2, ...), AMP_TARGET_ISA, AMP_TARGET_LANES, and AMP_COMPUTES_FLOAT32,
// AMP_COMPUTES_BF16 and AMP_COMPUTES_INT16, which are 1 for what kernels with several compute types have there.
#pragma once

#include "kernels/base/cpu.h"

namespace amp::kernels {
namespace {

[[maybe_unused]] constexpr Isa kIsa = Isa::AMP_TARGET_ISA;
[[maybe_unused]] constexpr int kTargetLanes = AMP_TARGET_LANES;  // of float32

}  // namespace
}  // namespace amp::kernels

// Defines the table of a kernel for this target; null where the compiler was not told to make code for it.
#if AMP_TARGET_LANES == 4 || (AMP_TARGET_LANES == 8 && defined(__AVX2__) && defined(__FMA__)) || defined(__AVX512F__)
#define AMP_KERNEL_TABLE(Table, ...)             \
  const Table* Table::AMP_TARGET() {             \
    static constexpr Table kTable = __VA_ARGS__; \
    return &kTable;                              \
  }
#else
#define AMP_KERNEL_TABLE(Table, ...) \
  const Table* Table::AMP_TARGET() { return nullptr; }
#endif
