// Variables of one name are one.
#pragma once

#include "nnvm/symbol.h"

namespace amp {

// Parameters and inputs are bound by name, so two variables of one name hold the same array: the first of them stands
// for all. The same symbol where names are unique.
Symbol MergeVariables(const Symbol& symbol);

}  // namespace amp
