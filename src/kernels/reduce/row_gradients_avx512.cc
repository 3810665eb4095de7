#include "kernels/reduce/row_gradients.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)

#include "kernels/reduce/row_gradients_code.h"

namespace amp::kernels {

const RowGradientsTable* RowGradientsTableAvx512() { return &RowGradientsCode<Isa::kAvx512, 16>::kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const RowGradientsTable* RowGradientsTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
