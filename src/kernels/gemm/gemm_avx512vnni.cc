#include "kernels/gemm/gemm.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512BF16__) && defined(__AVX512VNNI__)

#include "kernels/base/int16_vectors_avx512.h"
#include "kernels/gemm/strassen_code.h"
#include "kernels/gemm/strassen_int16_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

using Integers = Int16Products<Int16Vectors>;

constexpr GemmTable kTable = {Isa::kAvx512,
                              {nullptr, nullptr, GemmCode<Integers>::Run},
                              {nullptr, nullptr, StrassenCode<Integers, Int16StrassenRows<Integers>>::Run},
                              Integers::kRows};

}  // namespace

const GemmTable* GemmTableAvx512VNNI() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const GemmTable* GemmTableAvx512VNNI() { return nullptr; }

}  // namespace amp::kernels

#endif
