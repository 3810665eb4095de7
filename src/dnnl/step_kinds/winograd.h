// Convolutions that our own kernel computes by Winograd's algorithm.
#pragma once

#include <memory>

#include "dnnl/layout_builder.h"
#include "dnnl/own_kernel.h"

namespace amp::onednn {

// Lays out a step whose spec names a kind of Winograd's algorithm, in the layouts that the library would choose: what
// lies around it stays as it is. False where the kernel does not know them.
bool AssignWinograd(LayoutBuilder* builder, const Step& step);

std::unique_ptr<const OwnKernel> MakeWinograd(const Step& step, const LaidOutProgram& program);

// Whether the kernel knows the layout of a result.
bool CanWriteWinograd(const Step& step, const LaidOutProgram& program, const Desc& layout);

}  // namespace amp::onednn
