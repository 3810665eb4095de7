#include "kernels/movement/weighted_rows.h"

#ifdef __AVX512F__

#include "kernels/movement/weighted_rows_code.h"

namespace amp::kernels {

const WeightedRowsTable* WeightedRowsAvx512() { return &WeightedRowsCode<Isa::kAvx512, 16>::kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const WeightedRowsTable* WeightedRowsAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
