#include "kernels/elementwise/dropout_mask.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)

#include "kernels/elementwise/dropout_mask_code.h"

namespace amp::kernels {

const DropoutMaskTable* DropoutMaskTableAvx512() { return &DropoutMaskCode<Isa::kAvx512, 16>::kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const DropoutMaskTable* DropoutMaskTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
