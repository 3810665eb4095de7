#include "kernels/base/target.h"
#include "kernels/base/tile_vectors.h"
#include "kernels/gemm/strided_product.h"
#include "kernels/gemm/strided_product_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(StridedProductTable, {kIsa, StridedProductCode<TileVectors>::Run})

}  // namespace amp::kernels
