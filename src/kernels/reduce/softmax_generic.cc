#include "kernels/reduce/softmax_code.h"

namespace amp::kernels {

const SoftmaxTable* SoftmaxTableGeneric() {
  static constexpr SoftmaxTable kTable = {Isa::kGeneric, SoftmaxCode<Isa::kGeneric, 4>::AnyBlock};
  return &kTable;
}

}  // namespace amp::kernels
