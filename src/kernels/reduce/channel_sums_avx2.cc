#include "kernels/reduce/channel_sums.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/reduce/channel_sums_code.h"

namespace amp::kernels {

const ChannelSumsTable* ChannelSumsTableAvx2() { return &ChannelSumsCode<Isa::kAvx2, 8>::kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const ChannelSumsTable* ChannelSumsTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
