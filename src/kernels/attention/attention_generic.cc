#include "kernels/attention/attention.h"
#include "kernels/attention/attention_code.h"

namespace amp::kernels {

const AttentionTable* AttentionTableGeneric() {
  static constexpr AttentionTable kTable = AttentionTableOf<SingleAttention<Isa::kGeneric, 4>>(Isa::kGeneric);
  return &kTable;
}

}  // namespace amp::kernels
