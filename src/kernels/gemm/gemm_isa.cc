// targets: generic avx2 avx512 avx512bf16 avx512vnni
#include "kernels/base/int16_vectors.h"
#include "kernels/base/product_vectors.h"
#include "kernels/gemm/gemm_code.h"
#include "kernels/gemm/strassen_code.h"
#include "kernels/gemm/strassen_int16_code.h"

namespace amp::kernels {
namespace {

constexpr GemmTable GemmTableOfTarget() {
  GemmTable table{kIsa, {}, {}, 0};
#if AMP_COMPUTES_INT16
  using Integers = Int16Products<Int16Vectors>;
  constexpr auto kInt16 = static_cast<std::size_t>(ComputeType::kInt16);
  table.rows = Integers::kRows;
  table.run[kInt16] = GemmCode<Integers>::Run;
  table.strassen[kInt16] = StrassenCode<Integers, Int16StrassenRows<Integers>>::Run;
#endif
#if AMP_COMPUTES_BF16
  table.rows = ProductVectors::kRows;
  table.run[static_cast<std::size_t>(ComputeType::kBFloat16)] = GemmCode<ProductVectors>::Run;
#endif
#if AMP_COMPUTES_FLOAT32
  constexpr auto kFloat32 = static_cast<std::size_t>(ComputeType::kFloat32);
  table.rows = ProductVectors::kRows;
  table.run[kFloat32] = GemmCode<ProductVectors>::Run;
  table.strassen[kFloat32] = StrassenCode<ProductVectors, StrassenRows<ProductVectors>>::Run;
#endif
  return table;
}

}  // namespace

AMP_KERNEL_TABLE(GemmTable, GemmTableOfTarget())

}  // namespace amp::kernels
