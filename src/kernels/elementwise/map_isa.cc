#include "kernels/base/target.h"
#include "kernels/elementwise/map_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(MapTable, {kIsa, MapCode<kIsa, kTargetLanes>::Range, MapCode<kIsa, kTargetLanes>::Apply})

}  // namespace amp::kernels
