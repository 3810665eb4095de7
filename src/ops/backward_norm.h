// The gradients of LayerNorm, GroupNorm and InstanceNorm.
#pragma once

#include "passes/gradient/gradient_rule.h"

namespace amp {

// Those of (data, gamma, beta), by the operator `backward` with these attributes.
void SetNormGradients(GradientContext& c, const char* backward, AttrMap attrs);

}  // namespace amp
