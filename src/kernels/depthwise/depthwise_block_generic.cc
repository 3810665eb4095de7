#include "kernels/base/product_vectors_generic.h"
#include "kernels/depthwise/depthwise_block.h"
#include "kernels/depthwise/depthwise_block_code.h"

namespace amp::kernels {
namespace {

constexpr DepthwiseBlockTable kTable = {Isa::kGeneric, {DepthwiseBlockCode<ProductVectors>::Run, nullptr, nullptr}};

}  // namespace

const DepthwiseBlockTable* DepthwiseBlockTableGeneric() { return &kTable; }

}  // namespace amp::kernels
