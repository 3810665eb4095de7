// Gradients of operators that are compositions of others.
#pragma once

#include <functional>
#include <vector>

#include "passes/gradient/gradient_rule.h"

namespace amp {

// The node's outputs in terms of its inputs; outputs behind the last one get no gradient.
using Composition = std::function<std::vector<Term>(GradientContext&)>;

// Differentiates the composition, which is computed again where the gradient needs it.
GradientRule CompositionRule(Composition composition);

}  // namespace amp
