#include "kernels/depthwise/depthwise_block.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include "kernels/base/product_vectors_avx512.h"
#include "kernels/depthwise/depthwise_block_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr DepthwiseBlockTable kTable = {Isa::kAvx512, {DepthwiseBlockCode<ProductVectors>::Run, nullptr, nullptr}};

}  // namespace

const DepthwiseBlockTable* DepthwiseBlockTableAvx512() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const DepthwiseBlockTable* DepthwiseBlockTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
