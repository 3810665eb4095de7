#include "kernels/depthwise/fused_depthwise.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/base/int16_vectors_avx2.h"
#include "kernels/base/product_vectors.h"
#include "kernels/depthwise/fused_depthwise_int16_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr FusedDepthwiseTable kTable = {
    Isa::kAvx2, {FusedDepthwiseCode<ProductVectors>::Run, nullptr, FusedDepthwiseCode<Int16Blocks<Int16Vectors>>::Run}};

}  // namespace

const FusedDepthwiseTable* FusedDepthwiseTableAvx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const FusedDepthwiseTable* FusedDepthwiseTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
