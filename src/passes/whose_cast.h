// Whose a cast is. Those of a conversion are storage: plans may take them back. All others belong to the program, which
// rounds or widens exactly there: nothing removes, moves or widens them.
#pragma once

#include "nnvm/node.h"

namespace amp {

// On a cast of a conversion that has no name to know it by, such as one that was recorded while operators cast
// (mx.amp.init).
inline constexpr const char* kConversionCastAttr = "__amp_cast__";

// An amp_cast or amp_multicast that a conversion wrote, ours or MXNet's: it has the attribute above, or its name ends
// in
// `_amp_cast_<dtype>` or `_amp_multicast`, and a number where that name was taken.
bool IsCastOfConversion(const Node& node);

// A Cast, amp_cast or amp_multicast of the program's own.
bool IsCastOfProgram(const Node& node);

}  // namespace amp
