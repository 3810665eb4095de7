#include "kernels/gemm/strided_product.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/base/tile_vectors.h"
#include "kernels/gemm/strided_product_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr StridedProductTable kTable = {Isa::kAvx2, StridedProductCode<TileVectors>::Run};

}  // namespace

const StridedProductTable* StridedProductTableAvx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const StridedProductTable* StridedProductTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
