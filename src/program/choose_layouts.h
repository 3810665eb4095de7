// ChooseLayouts: where measurements say that oneDNN's choice of layouts is not the fastest for a whole network.
#pragma once

#include "program/step.h"

namespace amp {

// Whether weights of convolutions have gradients.
bool IsTraining(const Program& program);

// Whether oneDNN's convolutions get hints to read and write blocks of channels: in training, and where large depthwise
// convolutions are left to it.
bool WantsBlocks(const Program& program);

// Sets the layout hints of convolutions and inner products. Where oneDNN has no primitive in these layouts, it
// chooses others. With AMX there is no fast code for bfloat16 in blocks of channels.
void ChooseLayouts(bool has_amx, Program* program);

}  // namespace amp
