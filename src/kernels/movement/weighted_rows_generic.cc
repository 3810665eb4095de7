#include "kernels/movement/weighted_rows_code.h"

namespace amp::kernels {

const WeightedRowsTable* WeightedRowsGeneric() { return &WeightedRowsCode<Isa::kGeneric, 4>::kTable; }

}  // namespace amp::kernels
