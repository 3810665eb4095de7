// targets: avx2 avx512
#include "kernels/base/target.h"
#include "kernels/elementwise/scale_shift_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(ScaleShiftTable, ScaleShiftTableOf(kIsa))

}  // namespace amp::kernels
