#include "kernels/attention/attention_backward_code.h"
#include "kernels/base/target.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(AttentionBackwardTable, BackwardTableOf<SingleProducts<kIsa, kTargetLanes>>(kIsa))

}  // namespace amp::kernels
