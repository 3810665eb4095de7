// Reference kernels for passes that compute constants.
#pragma once

#include "passes/optimize/constant_values.h"

namespace amp {

NodeRunner ReferenceRunner();

}  // namespace amp
