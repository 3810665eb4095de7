#include "kernels/reduce/channel_sums_code.h"

namespace amp::kernels {

const ChannelSumsTable* ChannelSumsTableGeneric() { return &ChannelSumsCode<Isa::kGeneric, 4>::kTable; }

}  // namespace amp::kernels
