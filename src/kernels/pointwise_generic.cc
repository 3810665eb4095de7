#include "kernels/pointwise.h"
#include "kernels/pointwise_code.h"
#include "kernels/product_vectors_generic.h"
#include "kernels/strassen_code.h"

namespace amp::kernels {
namespace {

constexpr PointwiseTable kTable = {Isa::kGeneric,
                                   {PointwiseCode<ProductVectors>::Run, nullptr, nullptr},
                                   {StrassenCode<ProductVectors, StrassenRows<ProductVectors>>::Run, nullptr, nullptr},
                                   ProductVectors::kRows};

}  // namespace

const PointwiseTable* PointwiseTableGeneric() { return &kTable; }

}  // namespace amp::kernels
