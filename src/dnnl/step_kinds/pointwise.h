// 1x1 convolutions and dense layers that our own matrix product computes.
#pragma once

#include <memory>

#include "dnnl/layout_builder.h"
#include "dnnl/own_kernel.h"

namespace amp::onednn {

// Lays out a step whose spec names the dtype of such a product. False where the library would not have channels last,
// so that what lies around the step stays as it is.
bool AssignPointwise(LayoutBuilder* builder, const Step& step);

std::unique_ptr<const OwnKernel> MakePointwise(const Step& step, const LaidOutProgram& program);

// Whether the kernel knows the layout of a result.
bool CanWritePointwise(const Step& step, const LaidOutProgram& program, const Desc& layout);

// The same of dense layers, whose operands are matrices in rows.
void AssignDense(LayoutBuilder* builder, Step step);
std::unique_ptr<const OwnKernel> MakeDense(const Step& step, const LaidOutProgram& program);
bool CanWriteDense(const Step& step, const LaidOutProgram& program, const Desc& layout);

}  // namespace amp::onednn
