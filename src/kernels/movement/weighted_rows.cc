#include "kernels/movement/weighted_rows.h"

namespace amp::kernels {

const WeightedRowsTable& ActiveWeightedRows() {
  static const WeightedRowsTable& table = BestTable<WeightedRowsTable>(
      {{Isa::kGeneric, WeightedRowsGeneric}, {Isa::kAvx2, WeightedRowsAvx2}, {Isa::kAvx512, WeightedRowsAvx512}});
  return table;
}

}  // namespace amp::kernels
