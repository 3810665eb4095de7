// ChooseLayouts: where measurements say that the library's choice of layouts is not the fastest for a whole network.
#pragma once

#include "program/step.h"

namespace amp {

// Sets the wishes of convolutions and inner products. A primitive that the library lacks in the layouts wished for is
// taken in those of its choice.
void ChooseLayouts(Program* program);

}  // namespace amp
