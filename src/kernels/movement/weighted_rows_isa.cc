#include "kernels/base/target.h"
#include "kernels/movement/weighted_rows_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(WeightedRowsTable, WeightedRowsCode<kIsa, kTargetLanes>::kTable)

}  // namespace amp::kernels
