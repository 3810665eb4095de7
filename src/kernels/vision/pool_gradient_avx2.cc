#include "kernels/vision/pool_gradient.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/vision/pool_gradient_code.h"

namespace amp::kernels {

const PoolGradientTable* PoolGradientTableAvx2() { return &PoolGradientCode<Isa::kAvx2, 8>::kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const PoolGradientTable* PoolGradientTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
