// targets: generic avx2 avx512 avx512bf16 avx512vnni
#include "kernels/base/int16_vectors.h"
#include "kernels/base/product_vectors.h"
#include "kernels/depthwise/fused_depthwise_code.h"
#include "kernels/depthwise/fused_depthwise_int16_code.h"

namespace amp::kernels {
namespace {

constexpr FusedDepthwiseTable FusedDepthwiseTableOfTarget() {
  FusedDepthwiseTable table{kIsa, {}};
#if AMP_COMPUTES_FLOAT32
  table.run[static_cast<std::size_t>(ComputeType::kFloat32)] = FusedDepthwiseCode<ProductVectors>::Run;
#endif
#if AMP_COMPUTES_BF16
  table.run[static_cast<std::size_t>(ComputeType::kBFloat16)] = FusedDepthwiseCode<ProductVectors, true>::Run;
#endif
#if AMP_COMPUTES_INT16
  table.run[static_cast<std::size_t>(ComputeType::kInt16)] = FusedDepthwiseCode<Int16Blocks<Int16Vectors>>::Run;
#endif
  return table;
}

}  // namespace

AMP_KERNEL_TABLE(FusedDepthwiseTable, FusedDepthwiseTableOfTarget())

}  // namespace amp::kernels
