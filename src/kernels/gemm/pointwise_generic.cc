#include "kernels/base/product_vectors_generic.h"
#include "kernels/gemm/pointwise.h"
#include "kernels/gemm/pointwise_code.h"
#include "kernels/gemm/strassen_code.h"

namespace amp::kernels {
namespace {

constexpr PointwiseTable kTable = {Isa::kGeneric,
                                   {PointwiseCode<ProductVectors>::Run, nullptr, nullptr},
                                   {StrassenCode<ProductVectors, StrassenRows<ProductVectors>>::Run, nullptr, nullptr},
                                   ProductVectors::kRows};

}  // namespace

const PointwiseTable* PointwiseTableGeneric() { return &kTable; }

}  // namespace amp::kernels
