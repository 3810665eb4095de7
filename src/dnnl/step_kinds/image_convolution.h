// Convolutions over images of few channels by our own kernel.
#pragma once

#include <memory>

#include "dnnl/layout_builder.h"
#include "dnnl/own_kernel.h"

namespace amp::onednn {

// The image in row-major order, the result in the layout that the step's hint names, channels last without one.
void AssignImageConvolution(LayoutBuilder* builder, Step step);

std::unique_ptr<const OwnKernel> MakeImageConvolution(const Step& step, const LaidOutProgram& program);

// Whether the kernel knows the layout of a result.
bool CanWriteImageConvolution(const Step& step, const LaidOutProgram& program, const Desc& layout);

}  // namespace amp::onednn
