#include "kernels/attention/attention.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/attention/attention_code.h"

namespace amp::kernels {

const AttentionTable* AttentionTableAvx2() {
  static constexpr AttentionTable kTable = AttentionTableOf<SingleAttention<Isa::kAvx2, 8>>(Isa::kAvx2);
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const AttentionTable* AttentionTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
