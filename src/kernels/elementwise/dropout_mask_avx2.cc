#include "kernels/elementwise/dropout_mask.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/elementwise/dropout_mask_code.h"

namespace amp::kernels {

const DropoutMaskTable* DropoutMaskTableAvx2() { return &DropoutMaskCode<Isa::kAvx2, 8>::kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const DropoutMaskTable* DropoutMaskTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
