#include "kernels/base/target.h"
#include "kernels/reduce/reduce_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(ReduceTable, {kIsa, ReduceCode<kIsa, kTargetLanes / 2>::Loops})

}  // namespace amp::kernels
