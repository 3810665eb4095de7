#include "kernels/elementwise/dropout_mask_code.h"

namespace amp::kernels {

const DropoutMaskTable* DropoutMaskTableGeneric() { return &DropoutMaskCode<Isa::kGeneric, 4>::kTable; }

}  // namespace amp::kernels
