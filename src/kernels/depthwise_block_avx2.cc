#include "kernels/depthwise_block.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/depthwise_block_code.h"
#include "kernels/product_vectors_avx2.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr DepthwiseBlockTable kTable = {Isa::kAvx2, {DepthwiseBlockCode<ProductVectors>::Run, nullptr, nullptr}};

}  // namespace

const DepthwiseBlockTable* DepthwiseBlockTableAvx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const DepthwiseBlockTable* DepthwiseBlockTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
