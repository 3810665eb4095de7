#include "kernels/base/target.h"
#include "kernels/reduce/row_gradients_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(RowGradientsTable, RowGradientsCode<kIsa, kTargetLanes>::kTable)

}  // namespace amp::kernels
