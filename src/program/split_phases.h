// Programs that run in two halves: outputs first, their gradients later.
#pragma once

#include <cstddef>

#include "program/step.h"

namespace amp {

// Puts the steps that the first `num_outputs` outputs need before all others; the others are marked as the backward
// half. The order within each half stays.
void PutForwardFirst(std::size_t num_outputs, Program* program);

}  // namespace amp
