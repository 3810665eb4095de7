// How steps of most kinds are laid out.
#pragma once

#include "program/step.h"

namespace amp::onednn {

class LayoutBuilder;

// Assigns the layouts of steps that oneDNN has a primitive for, and ...
void AssignPrimitive(LayoutBuilder* builder, Step step);
// ... those of kernels that read and write row-major memory.
void AssignRowMajor(LayoutBuilder* builder, Step step);

}  // namespace amp::onednn
