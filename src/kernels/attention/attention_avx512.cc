#include "kernels/attention/attention.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include "kernels/attention/attention_code.h"

namespace amp::kernels {

const AttentionTable* AttentionTableAvx512() {
  static constexpr AttentionTable kTable = AttentionTableOf<SingleAttention<Isa::kAvx512, 16>>(Isa::kAvx512);
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const AttentionTable* AttentionTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
