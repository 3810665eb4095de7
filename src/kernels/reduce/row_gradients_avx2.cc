#include "kernels/reduce/row_gradients.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/reduce/row_gradients_code.h"

namespace amp::kernels {

const RowGradientsTable* RowGradientsTableAvx2() { return &RowGradientsCode<Isa::kAvx2, 8>::kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const RowGradientsTable* RowGradientsTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
