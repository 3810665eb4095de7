#include "kernels/vision/box_nms_code.h"

namespace amp::kernels {

const BoxNmsTable* BoxNmsGeneric() { return &BoxNmsCode<Isa::kGeneric>::kTable; }

}  // namespace amp::kernels
