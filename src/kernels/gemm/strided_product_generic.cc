#include "kernels/base/tile_vectors.h"
#include "kernels/gemm/strided_product.h"
#include "kernels/gemm/strided_product_code.h"

namespace amp::kernels {
namespace {

constexpr StridedProductTable kTable = {Isa::kGeneric, StridedProductCode<TileVectors>::Run};

}  // namespace

const StridedProductTable* StridedProductTableGeneric() { return &kTable; }

}  // namespace amp::kernels
