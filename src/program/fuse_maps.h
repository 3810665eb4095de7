// FuseMaps: chains of elementwise steps become one pass over memory.
#pragma once

#include "passes/numeric_mode.h"
#include "program/step.h"

namespace amp {

// Merges elementwise steps and casts into the one step that reads them, as maps. A chain of two or more becomes a map;
// single steps stay as they are, what runs once stays apart, and in mode `exact` all that would run as a primitive. For
// after FusePostOps: what a primitive takes along costs nothing.
void FuseMaps(NumericMode mode, Program* program);

}  // namespace amp
