#include "kernels/depthwise/fused_depthwise.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include "kernels/base/product_vectors.h"
#include "kernels/depthwise/fused_depthwise_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr FusedDepthwiseTable kTable = {Isa::kAvx512, {FusedDepthwiseCode<ProductVectors>::Run, nullptr, nullptr}};

}  // namespace

const FusedDepthwiseTable* FusedDepthwiseTableAvx512() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const FusedDepthwiseTable* FusedDepthwiseTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
