// targets: avx2 avx512
#include "kernels/base/target.h"
#include "kernels/elementwise/cast_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(CastTable, CastTableOf(kIsa))

}  // namespace amp::kernels
