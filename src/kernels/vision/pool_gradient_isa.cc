#include "kernels/base/target.h"
#include "kernels/vision/pool_gradient_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(PoolGradientTable, PoolGradientCode<kIsa, kTargetLanes>::kTable)

}  // namespace amp::kernels
