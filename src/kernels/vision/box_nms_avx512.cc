#include "kernels/vision/box_nms.h"

#ifdef __AVX512F__

#include "kernels/vision/box_nms_code.h"

namespace amp::kernels {

const BoxNmsTable* BoxNmsAvx512() { return &BoxNmsCode<Isa::kAvx512>::kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const BoxNmsTable* BoxNmsAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
