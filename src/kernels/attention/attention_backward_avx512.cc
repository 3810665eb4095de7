#include "kernels/attention/attention_backward.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include "kernels/attention/attention_backward_code.h"

namespace amp::kernels {

const AttentionBackwardTable* AttentionBackwardTableAvx512() {
  static constexpr AttentionBackwardTable kTable = BackwardTableOf<SingleProducts<Isa::kAvx512, 16>>(Isa::kAvx512);
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const AttentionBackwardTable* AttentionBackwardTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
