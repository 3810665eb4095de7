// Invariants of a program.
#pragma once

#include <string>

#include "program/step.h"

namespace amp {

// Invariants:
//   every operand of a step exists, and is an input, a constant, or made by a step before it
//   a value is made once, and only where its source says that it is computed
//   every output of the program is an input, a constant, or made by a step
// Returns the violations, one line each; "" for a valid program.
std::string FindViolations(const Program& program);

// Throws InternalError that names `stage` and lists all violations.
void VerifyProgram(const Program& program, const char* stage);

}  // namespace amp
