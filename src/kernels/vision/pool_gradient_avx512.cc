#include "kernels/vision/pool_gradient.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)

#include "kernels/vision/pool_gradient_code.h"

namespace amp::kernels {

const PoolGradientTable* PoolGradientTableAvx512() { return &PoolGradientCode<Isa::kAvx512, 16>::kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const PoolGradientTable* PoolGradientTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
