// Our types as the kernels' (kernels include no other folder).
#pragma once

#include "kernels/elementwise/cast.h"
#include "nnvm/dtype.h"
#include "program/step.h"

namespace amp {

kernels::ElementType KernelType(DType dtype);

}  // namespace amp
