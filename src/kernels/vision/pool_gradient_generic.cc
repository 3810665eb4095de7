#include "kernels/vision/pool_gradient_code.h"

namespace amp::kernels {

const PoolGradientTable* PoolGradientTableGeneric() { return &PoolGradientCode<Isa::kGeneric, 4>::kTable; }

}  // namespace amp::kernels
