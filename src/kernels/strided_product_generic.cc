#include "kernels/strided_product.h"
#include "kernels/strided_product_code.h"
#include "kernels/tile_vectors_generic.h"

namespace amp::kernels {
namespace {

constexpr StridedProductTable kTable = {Isa::kGeneric, StridedProductCode<TileVectors>::Run};

}  // namespace

const StridedProductTable* StridedProductTableGeneric() { return &kTable; }

}  // namespace amp::kernels
