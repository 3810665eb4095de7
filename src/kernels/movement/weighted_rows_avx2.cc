#include "kernels/movement/weighted_rows.h"

#ifdef __AVX2__

#include "kernels/movement/weighted_rows_code.h"

namespace amp::kernels {

const WeightedRowsTable* WeightedRowsAvx2() { return &WeightedRowsCode<Isa::kAvx2, 8>::kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const WeightedRowsTable* WeightedRowsAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
