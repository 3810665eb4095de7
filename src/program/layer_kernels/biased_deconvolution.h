// A deconvolution with what the step behind it does. oneDNN adds no bias to strided ones, so a step of its own
// does, together with what follows.
#pragma once

#include <optional>

#include "program/step.h"

namespace amp {

// `deconvolution` with the bias that `reader`, its only reader, adds to its sums, and what else that does as post-ops:
// it adds tensors of the same shape, clips and bends. nullopt where it does anything else, or reads the sums rounded.
std::optional<Step> BiasedDeconvolution(const Step& deconvolution, const Step& reader, const Program& program);

}  // namespace amp
