#include "kernels/reduce/reduce_code.h"

namespace amp::kernels {

const ReduceTable* ReduceTableGeneric() {
  static constexpr ReduceTable kTable = {Isa::kGeneric, ReduceCode<Isa::kGeneric, 2>::Loops};
  return &kTable;
}

}  // namespace amp::kernels
