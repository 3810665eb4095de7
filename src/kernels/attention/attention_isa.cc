#include "kernels/attention/attention_code.h"
#include "kernels/base/target.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(AttentionTable, AttentionTableOf<SingleAttention<kIsa, kTargetLanes>>(kIsa))

}  // namespace amp::kernels
