#include "kernels/attention/attention_backward.h"
#include "kernels/attention/attention_backward_code.h"

namespace amp::kernels {

const AttentionBackwardTable* AttentionBackwardTableGeneric() {
  static constexpr AttentionBackwardTable kTable = BackwardTableOf<SingleProducts<Isa::kGeneric, 4>>(Isa::kGeneric);
  return &kTable;
}

}  // namespace amp::kernels
