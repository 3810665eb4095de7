#include "kernels/gemm/gemm.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512BF16__)

#include "kernels/base/product_vectors_avx512bf16.h"
#include "kernels/gemm/gemm_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr GemmTable kTable = {Isa::kAvx512,
                              {nullptr, GemmCode<ProductVectors>::Run, nullptr},
                              {nullptr, nullptr, nullptr},
                              ProductVectors::kRows};

}  // namespace

const GemmTable* GemmTableAvx512BF16() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const GemmTable* GemmTableAvx512BF16() { return nullptr; }

}  // namespace amp::kernels

#endif
