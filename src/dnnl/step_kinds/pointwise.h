// Convolutions and dense layers that our own matrix products compute.
#pragma once

#include <memory>
#include <optional>

#include "dnnl/layout_builder.h"
#include "dnnl/own_kernel.h"
#include "kernels/cast.h"
#include "kernels/pointwise.h"

namespace amp::onednn {

// Lays out a step whose spec names the dtype of such a product. False where the library would not have channels last,
// so that what lies around the step stays as it is.
bool AssignPointwise(LayoutBuilder* builder, const Step& step);

std::unique_ptr<const OwnKernel> MakePointwise(const Step& step, const LaidOutProgram& program);

// Whether the kernel knows the layout of a result.
bool CanWritePointwise(const Step& step, const LaidOutProgram& program, const Desc& layout);

// The same of a convolution that reads an image, channels first.
void AssignImageConvolution(LayoutBuilder* builder, Step step);
std::unique_ptr<const OwnKernel> MakeImageConvolution(const Step& step, const LaidOutProgram& program);

// The same of dense layers, whose operands are matrices in rows.
void AssignDense(LayoutBuilder* builder, Step step);
std::unique_ptr<const OwnKernel> MakeDense(const Step& step, const LaidOutProgram& program);
bool CanWriteDense(const Step& step, const LaidOutProgram& program, const Desc& layout);

// ---- for kernels that multiply so, among other things ----

// Positions with channels last; nothing for other layouts. A row of blocks of channels is none.
std::optional<kernels::PointwiseSource> PositionsOf(const Desc& desc);
// Positions that lie equally far apart.
std::optional<kernels::PointwiseImage> ImageOf(const Desc& desc);
// Reorders an input of the step.
void InChannelsLast(LayoutBuilder* builder, const Step& step, ValueId* v);
// Weights (O, ...), packed for products of that dtype: one column for each of the O.
ValueId PackedPointwise(LayoutBuilder* builder, ValueId weights, DType dtype, NodeId node);
StepTypes TypesOf(const LayoutBuilder& builder, const Step& step);

// Packs weights with `Pack(job, floats, packed)`, which reads float32 only.
template <class Job, auto Pack>
class PackingKernel : public OwnKernel {
 public:
  PackingKernel(const Job& job, const TensorType& weights) : job_(job), weights_(weights) {}

  std::size_t ScratchBytes() const override { return is_bf16() ? Count() * sizeof(float) : 0; }

  void Run(const KernelOperands& operands) const override {
    const void* weights = operands.input(0);
    if (is_bf16()) {
      kernels::Cast(kernels::ElementType::kBFloat16, weights, kernels::ElementType::kFloat32, operands.scratch(),
                    Count());
      weights = operands.scratch();
    }
    Pack(job_, static_cast<const float*>(weights), operands.output());
  }

 private:
  bool is_bf16() const { return weights_.dtype == DType::kBFloat16; }
  std::size_t Count() const { return static_cast<std::size_t>(weights_.shape.size()); }

  Job job_;
  TensorType weights_;
};

}  // namespace amp::onednn
