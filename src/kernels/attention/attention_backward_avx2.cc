#include "kernels/attention/attention_backward.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/attention/attention_backward_code.h"

namespace amp::kernels {

const AttentionBackwardTable* AttentionBackwardTableAvx2() {
  static constexpr AttentionBackwardTable kTable = BackwardTableOf<SingleProducts<Isa::kAvx2, 8>>(Isa::kAvx2);
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const AttentionBackwardTable* AttentionBackwardTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
