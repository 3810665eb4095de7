#include "kernels/depthwise_block.h"
#include "kernels/depthwise_block_code.h"
#include "kernels/product_vectors_generic.h"

namespace amp::kernels {
namespace {

constexpr DepthwiseBlockTable kTable = {Isa::kGeneric, {DepthwiseBlockCode<ProductVectors>::Run, nullptr, nullptr}};

}  // namespace

const DepthwiseBlockTable* DepthwiseBlockTableGeneric() { return &kTable; }

}  // namespace amp::kernels
