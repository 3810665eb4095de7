#include "kernels/base/target.h"
#include "kernels/vision/box_nms_code.h"

namespace amp::kernels {

AMP_KERNEL_TABLE(BoxNmsTable, BoxNmsCode<kIsa>::kTable)

}  // namespace amp::kernels
