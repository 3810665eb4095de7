#include "dnnl/step_kinds/image_convolution.h"

#include <utility>

#include "dnnl/cpu_info.h"
#include "dnnl/step_kind.h"
#include "kernels/cast.h"
#include "kernels/image_convolution.h"
#include "kernels/parallel.h"
#include "nnvm/error.h"
#include "program/convolution_finish.h"
#include "program/image_job.h"

namespace amp::onednn {
namespace {

using kernels::ImageConvolution;
using kernels::kImagePanel;

// ---- weights ----

class WeightsKernel : public OwnKernel {
 public:
  WeightsKernel(const ImageConvolution& job, bool is_bf16) : job_(job), is_bf16_(is_bf16) {}

  std::size_t ScratchBytes() const override { return is_bf16_ ? Count() * sizeof(float) : 0; }

  void Run(const KernelOperands& operands) const override {
    const void* weights = operands.input(0);
    if (is_bf16_) {
      kernels::Cast(kernels::ElementType::kBFloat16, weights, kernels::ElementType::kFloat32, operands.scratch(),
                    Count());
      weights = operands.scratch();
    }
    kernels::PackImageWeights(job_, static_cast<const float*>(weights), static_cast<float*>(operands.output()));
  }

 private:
  std::size_t Count() const { return static_cast<std::size_t>(job_.out_channels * job_.taps()); }

  ImageConvolution job_;
  bool is_bf16_;
};

// Weights (O, I, k...).
ImageConvolution JobOfWeights(const Shape& weights) {
  ImageConvolution job;
  job.out_channels = weights[0];
  job.channels = weights[1];
  for (int axis = 2; axis < weights.rank(); ++axis) job.width.kernel *= weights[axis];  // packing sees elements only
  return job;
}

std::unique_ptr<const OwnKernel> MakeWeights(const Step& step, const LaidOutProgram& program) {
  const TensorType& weights = program.TypeOf(step.inputs[0]);
  return std::make_unique<WeightsKernel>(JobOfWeights(weights.shape), weights.dtype == DType::kBFloat16);
}

ValueId PackedWeights(LayoutBuilder* builder, const Step& step) {
  const ValueId weights = step.inputs[1];
  const std::int64_t count = kernels::PackedImageWeights(JobOfWeights(builder->TypeOf(weights).shape));
  return builder->Derived(weights, ImageWeightsSpec{}, builder->NameOf(weights) + ":image",
                          PlainDesc({DType::kFloat32, Shape{count}}), step.node);
}

[[maybe_unused]] const bool kWeights = RegisterStepKind<ImageWeightsSpec>({.make_kernel = MakeWeights});

// ---- convolutions ----

class ImageConvolutionKernel : public OwnKernel {
 public:
  ImageConvolutionKernel(const ImageConvolution& job, bool has_bias)
      : job_(job), has_bias_(has_bias), num_threads_(kernels::NumThreads()) {}

  std::string Name() const override { return "image"; }
  std::size_t ScratchBytes() const override { return kernels::ImageConvolutionScratchBytes(job_, num_threads_); }

  void Run(const KernelOperands& operands) const override {
    const auto* bias = has_bias_ ? static_cast<const float*>(operands.input(2)) : nullptr;
    kernels::RunImageConvolution(job_, operands.input(0), static_cast<const float*>(operands.input(1)), bias,
                                 operands.output(), operands.scratch());
  }

 private:
  ImageConvolution job_;
  bool has_bias_;
  int num_threads_;
};

// False for layouts that the kernel does not write: it knows channels last, and full blocks of channels.
bool SetStrides(const Desc& layout, ImageConvolution* job) {
  if (layout.get_format_kind() != dnnl::memory::format_kind::blocked) return false;
  const dnnl::memory::dims strides = layout.get_strides();
  const auto rank = strides.size();
  job->y_batch = strides[0];
  job->y_plane = rank == 5 ? strides[2] : 0;
  job->y_row = strides[rank - 2];
  job->y_pixel = strides[rank - 1];
  if (layout.get_inner_nblks() == 0) return strides[1] == 1 || job->out_channels == 1;
  job->y_panel = strides[1];
  return layout.get_inner_nblks() == 1 && layout.get_inner_idxs()[0] == 1 &&
         layout.get_inner_blks()[0] == kImagePanel && job->out_channels % kImagePanel == 0;
}

Desc ResultLayout(const Step& step, const TensorType& out) {
  const bool in_blocks = std::get<ConvolutionSpec>(step.spec).layout_hint == LayoutHint::kBlocked &&
                         OneDnnHasAvx512() && out.shape.rank() == 4 && out.shape[1] % kImagePanel == 0;
  if (!in_blocks) return ChannelsLast(out);
  return Desc(DimsOf(out.shape), DataType(out.dtype), dnnl::memory::format_tag::aBcd16b);
}

}  // namespace

void AssignImageConvolution(LayoutBuilder* builder, Step step) {
  constexpr const char* kReason = "our kernel reads channels one after the other";
  step.inputs[0] = builder->InRowMajor(step.inputs[0], step.node, kReason);
  step.inputs[1] = PackedWeights(builder, step);
  if (HasBias(step)) step.inputs[2] = builder->InRowMajor(step.inputs[2], step.node, "");
  builder->SetLayout(step.outputs[0], ResultLayout(step, builder->TypeOf(step.outputs[0])));
  builder->Append(std::move(step));
}

std::unique_ptr<const OwnKernel> MakeImageConvolution(const Step& step, const LaidOutProgram& program) {
  ImageConvolution job = ImageJob(step, program.TypesOf(step));
  if (!SetStrides(program.layouts[step.outputs[0]], &job)) {
    throw InternalError("a convolution of an image into a layout that it does not know");
  }
  return std::make_unique<ImageConvolutionKernel>(job, HasBias(step));
}

bool CanWriteImageConvolution(const Step& step, const LaidOutProgram& program, const Desc& layout) {
  ImageConvolution job = ImageJob(step, program.TypesOf(step));
  return SetStrides(layout, &job);
}

}  // namespace amp::onednn
