#include "kernels/pointwise.h"
#include "kernels/pointwise_code.h"
#include "kernels/product_vectors_generic.h"

namespace amp::kernels {
namespace {

constexpr PointwiseTable kTable = {
    Isa::kGeneric, {PointwiseCode<ProductVectors>::Run, nullptr, nullptr}, ProductVectors::kRows};

}  // namespace

const PointwiseTable* PointwiseTableGeneric() { return &kTable; }

}  // namespace amp::kernels
