// A program as text: a step a line.
#pragma once

#include <string>

#include "program/step.h"

namespace amp {

// For dumps: each step with its operands, results and types.
std::string TextOf(const Program& program);

}  // namespace amp
