// The gradients of LayerNorm, GroupNorm and InstanceNorm.
#pragma once

#include "passes/gradient/gradient_rule.h"

namespace amp {

// Fails where channels do not form so many groups.
void RequireGroups(const Node& node, std::int64_t channels, std::int64_t groups);

// Sets the gradients of (data, gamma, beta), by the operator `backward` with these attributes.
void SetNormGradients(GradientContext& c, const char* backward, AttrMap attrs);

}  // namespace amp
