#include "kernels/vision/box_nms.h"

#ifdef __AVX2__

#include "kernels/vision/box_nms_code.h"

namespace amp::kernels {

const BoxNmsTable* BoxNmsAvx2() { return &BoxNmsCode<Isa::kAvx2>::kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const BoxNmsTable* BoxNmsAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
