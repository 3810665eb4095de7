// Our dtypes as the kernels' element types (kernels include nothing of ours).
#pragma once

#include "kernels/cast.h"
#include "nnvm/dtype.h"

namespace amp {

kernels::ElementType KernelType(DType dtype);

}  // namespace amp
