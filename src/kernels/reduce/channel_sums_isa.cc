#include "kernels/base/target.h"
#include "kernels/reduce/channel_sums_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(ChannelSumsTable, ChannelSumsCode<kIsa, kTargetLanes>::kTable)

}  // namespace amp::kernels
