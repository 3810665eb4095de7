#include "kernels/gemm/gemm.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include "kernels/base/product_vectors.h"
#include "kernels/gemm/gemm_code.h"
#include "kernels/gemm/strassen_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr GemmTable kTable = {Isa::kAvx512,
                              {GemmCode<ProductVectors>::Run, nullptr, nullptr},
                              {StrassenCode<ProductVectors, StrassenRows<ProductVectors>>::Run, nullptr, nullptr},
                              ProductVectors::kRows};

}  // namespace

const GemmTable* GemmTableAvx512() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const GemmTable* GemmTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
