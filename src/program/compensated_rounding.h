// Rounding of weights that a batch norm was folded into.
#pragma once

#include "nnvm/ndarray.h"
#include "passes/convert_symbol.h"

namespace amp {

// `weight` (float32) in how.target. Each number becomes one of its two neighbours there: the nearer one, except for a
// few per channel, close to the middle, that go the other way so that the errors of a channel add up to almost nothing.
// What the errors do to a sum over inputs of one sign (after a relu, say) then cancels, instead of being multiplied by
// their mean. Channels with numbers that are not finite are rounded to nearest. Compare: Guo et al., SQuant (ICLR
// 2022), which does so for integers.
NDArray RoundWithCompensation(const NDArray& weight, const FoldedWeight& how);

}  // namespace amp
