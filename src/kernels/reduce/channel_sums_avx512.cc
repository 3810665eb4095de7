#include "kernels/reduce/channel_sums.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)

#include "kernels/reduce/channel_sums_code.h"

namespace amp::kernels {

const ChannelSumsTable* ChannelSumsTableAvx512() { return &ChannelSumsCode<Isa::kAvx512, 16>::kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const ChannelSumsTable* ChannelSumsTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
