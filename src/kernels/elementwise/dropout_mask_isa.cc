#include "kernels/base/target.h"
#include "kernels/elementwise/dropout_mask_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(DropoutMaskTable, DropoutMaskCode<kIsa, kTargetLanes>::kTable)

}  // namespace amp::kernels
