// 1x1 convolutions and dense layers that our own matrix product computes.
#pragma once

#include <memory>
#include <optional>

#include "dnnl/layout_builder.h"
#include "dnnl/own_kernel.h"
#include "kernels/pointwise.h"

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

// ---- for kernels that multiply so, among other things ----

// Positions with channels last; nothing for other layouts. A row of blocks of channels is none.
std::optional<kernels::PointwiseSource> PositionsOf(const Desc& desc);
// Positions that lie equally far apart.
std::optional<kernels::PointwiseImage> ImageOf(const Desc& desc);
// Weights (O, I, 1, 1), packed for products of that dtype.
ValueId PackedPointwise(LayoutBuilder* builder, ValueId weights, DType dtype, NodeId node);
StepTypes TypesOf(const LayoutBuilder& builder, const Step& step);

}  // namespace amp::onednn
