// Which concatenations along channels are parts of larger ones.
#pragma once

#include <cstdint>
#include <map>

#include "program/step.h"

namespace amp {

struct ConcatAlias {
  ValueId buffer = 0;  // the outermost concatenation; itself, where no other contains it
  std::int64_t first_channel = 0;
};

// For the result of every concatenation along axis 1 of tensors with spatial axes, not only of constants.
std::map<ValueId, ConcatAlias> FindConcatAliases(const Program& program);

}  // namespace amp
