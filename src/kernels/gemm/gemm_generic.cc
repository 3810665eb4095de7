#include "kernels/base/product_vectors.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_code.h"
#include "kernels/gemm/strassen_code.h"

namespace amp::kernels {
namespace {

constexpr GemmTable kTable = {Isa::kGeneric,
                              {GemmCode<ProductVectors>::Run, nullptr, nullptr},
                              {StrassenCode<ProductVectors, StrassenRows<ProductVectors>>::Run, nullptr, nullptr},
                              ProductVectors::kRows};

}  // namespace

const GemmTable* GemmTableGeneric() { return &kTable; }

}  // namespace amp::kernels
