#include "kernels/depthwise/depthwise_block.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/base/int16_vectors_avx2.h"
#include "kernels/base/product_vectors_avx2.h"
#include "kernels/depthwise/depthwise_block_int16_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr DepthwiseBlockTable kTable = {
    Isa::kAvx2, {DepthwiseBlockCode<ProductVectors>::Run, nullptr, DepthwiseBlockCode<Int16Blocks<Int16Vectors>>::Run}};

}  // namespace

const DepthwiseBlockTable* DepthwiseBlockTableAvx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const DepthwiseBlockTable* DepthwiseBlockTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
