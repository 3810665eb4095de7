#include "kernels/base/target.h"
#include "kernels/reduce/softmax_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(SoftmaxTable, {kIsa, SoftmaxCode<kIsa, kTargetLanes>::AnyBlock})

}  // namespace amp::kernels
