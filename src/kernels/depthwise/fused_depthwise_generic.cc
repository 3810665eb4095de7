#include "kernels/base/product_vectors.h"
#include "kernels/depthwise/fused_depthwise.h"
#include "kernels/depthwise/fused_depthwise_code.h"

namespace amp::kernels {
namespace {

constexpr FusedDepthwiseTable kTable = {Isa::kGeneric, {FusedDepthwiseCode<ProductVectors>::Run, nullptr, nullptr}};

}  // namespace

const FusedDepthwiseTable* FusedDepthwiseTableGeneric() { return &kTable; }

}  // namespace amp::kernels
