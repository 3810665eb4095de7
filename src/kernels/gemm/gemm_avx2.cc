#include "kernels/gemm/gemm.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/base/int16_vectors_avx2.h"
#include "kernels/base/product_vectors.h"
#include "kernels/gemm/gemm_code.h"
#include "kernels/gemm/strassen_code.h"
#include "kernels/gemm/strassen_int16_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

using Floats = ProductVectors;
using Integers = Int16Products<Int16Vectors>;

constexpr GemmTable kTable = {Isa::kAvx2,
                              {GemmCode<Floats>::Run, nullptr, GemmCode<Integers>::Run},
                              {StrassenCode<Floats, StrassenRows<Floats>>::Run, nullptr,
                               StrassenCode<Integers, Int16StrassenRows<Integers>>::Run},
                              Floats::kRows};

}  // namespace

const GemmTable* GemmTableAvx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const GemmTable* GemmTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
