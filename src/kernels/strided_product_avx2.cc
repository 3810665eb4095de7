#include "kernels/strided_product.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/strided_product_code.h"
#include "kernels/tile_vectors_avx2.h"

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
