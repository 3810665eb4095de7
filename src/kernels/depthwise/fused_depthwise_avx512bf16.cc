#include "kernels/depthwise/fused_depthwise.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512BF16__)

#include "kernels/base/product_vectors_avx512bf16.h"
#include "kernels/depthwise/fused_depthwise_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr FusedDepthwiseTable kTable = {Isa::kAvx512,
                                        {nullptr, FusedDepthwiseCode<ProductVectors, true>::Run, nullptr}};

}  // namespace

const FusedDepthwiseTable* FusedDepthwiseTableAvx512BF16() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const FusedDepthwiseTable* FusedDepthwiseTableAvx512BF16() { return nullptr; }

}  // namespace amp::kernels

#endif
