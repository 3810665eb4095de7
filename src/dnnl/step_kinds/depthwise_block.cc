// Depthwise convolutions with the 1x1 convolutions around them, by our own kernel.
#include "kernels/depthwise_block.h"

#include <string>
#include <utility>

#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"
#include "dnnl/step_kinds/pointwise.h"
#include "kernels/parallel.h"
#include "nnvm/error.h"
#include "program/convolution_finish.h"
#include "program/depthwise_block_job.h"
#include "program/pointwise_job.h"

namespace amp::onednn {
namespace {

using kernels::DepthwiseBlock;

// ---- weights ----

// (C, 1, 1, kh, kw).
DepthwiseBlock DepthwiseJobOfWeights(const DepthwiseWeightsSpec& spec, const Shape& weights) {
  DepthwiseBlock job;
  job.multiplies = MultipliesOf(spec.multiplies);
  job.channels = weights[0];
  job.kernel_height = weights[3];
  job.kernel_width = weights[4];
  return job;
}

std::unique_ptr<const OwnKernel> MakeDepthwiseWeights(const Step& step, const LaidOutProgram& program) {
  const auto pack = [](const DepthwiseBlock& job, const float* weights, void* packed) {
    kernels::PackDepthwiseWeights(job, weights, static_cast<float*>(packed));
  };
  const TensorType& weights = program.TypeOf(step.inputs[0]);
  const DepthwiseBlock job = DepthwiseJobOfWeights(std::get<DepthwiseWeightsSpec>(step.spec), weights.shape);
  return std::make_unique<PackingKernel<DepthwiseBlock, pack>>(job, weights);
}

ValueId PackedDepthwise(LayoutBuilder* builder, ValueId weights, const DepthwiseWeightsSpec& spec, NodeId node) {
  const std::size_t bytes = kernels::PackedDepthwiseBytes(DepthwiseJobOfWeights(spec, builder->TypeOf(weights).shape));
  const std::string name = fmt::format("{}:depthwise_{}", builder->NameOf(weights), amp::NameOf(spec.multiplies));
  return builder->Derived(weights, spec, name, PlainDesc({DType::kUInt8, Shape{static_cast<std::int64_t>(bytes)}}),
                          node);
}

[[maybe_unused]] const bool kDepthwiseWeights =
    RegisterStepKind<DepthwiseWeightsSpec>({.make_kernel = MakeDepthwiseWeights});

// ---- blocks ----

class BlockKernel : public OwnKernel {
 public:
  BlockKernel(std::string name, const DepthwiseBlock& job, const DepthwiseBlockPlaces& places,
              std::optional<std::size_t> sum)
      : name_(std::move(name)), job_(job), places_(places), sum_(sum) {}

  std::string Name() const override { return name_; }
  std::size_t ScratchBytes() const override { return kernels::DepthwiseBlockScratchBytes(job_); }

  void Run(const KernelOperands& operands) const override {
    const auto floats = [&](std::optional<std::size_t> i) {
      return i ? static_cast<const float*>(operands.input(*i)) : nullptr;
    };
    kernels::DepthwiseBlockData data;
    data.source = operands.input(0);
    if (places_.expand_weights) data.expand_weights = operands.input(*places_.expand_weights);
    data.expand_bias = floats(places_.expand_bias);
    data.weights = floats(places_.weights);
    data.bias = floats(places_.bias);
    data.project_weights = operands.input(places_.project_weights);
    data.project_bias = floats(places_.project_bias);
    if (sum_) data.sum = operands.input(*sum_);
    data.destination = operands.output();
    kernels::RunDepthwiseBlock(job_, data, operands.scratch());
  }

 private:
  std::string name_;
  DepthwiseBlock job_;
  DepthwiseBlockPlaces places_;
  std::optional<std::size_t> sum_;
};

void AssignBlock(LayoutBuilder* builder, Step step) {
  const auto& spec = std::get<DepthwiseBlockSpec>(step.spec);
  const DepthwiseBlockPlaces places = PlacesOf(spec);
  const auto finish = FinishOf(step, TypesOf(*builder, step));
  if (!PositionsOf(builder->LayoutOf(step.inputs[0]))) InChannelsLast(builder, step, &step.inputs[0]);
  if (places.expand_weights) {
    ValueId& weights = step.inputs[*places.expand_weights];
    weights = PackedPointwise(builder, weights, spec.multiplies, step.node);
  }
  step.inputs[places.weights] = PackedDepthwise(builder, step.inputs[places.weights], {spec.multiplies}, step.node);
  ValueId& weights = step.inputs[places.project_weights];
  weights = PackedPointwise(builder, weights, spec.multiplies, step.node);
  for (const auto& bias : {places.expand_bias, places.bias, places.project_bias}) {
    if (bias) step.inputs[*bias] = builder->InRowMajor(step.inputs[*bias], step.node, "");
  }
  if (finish->sum && !ImageOf(builder->LayoutOf(step.inputs[*finish->sum]))) {
    InChannelsLast(builder, step, &step.inputs[*finish->sum]);
  }
  builder->SetLayout(step.outputs[0], ChannelsLast(builder->TypeOf(step.outputs[0])));
  builder->Append(std::move(step));
}

std::unique_ptr<const OwnKernel> MakeBlock(const Step& step, const LaidOutProgram& program) {
  const auto& spec = std::get<DepthwiseBlockSpec>(step.spec);
  const StepTypes types = program.TypesOf(step);
  DepthwiseBlock job = DepthwiseBlockJob(spec, types);
  const auto finish = FinishOf(step, types);
  const auto source = PositionsOf(program.layouts[step.inputs[0]]);
  const auto result = ImageOf(program.layouts[step.outputs[0]]);
  const auto sum = finish && finish->sum ? ImageOf(program.layouts[step.inputs[*finish->sum]]) : result;
  if (!finish || !source || !result || !sum) {
    throw InternalError("a depthwise convolution in layouts that our kernel does not know");
  }
  job.source = *source;
  job.destination = *result;
  job.sum = *sum;
  job.result = {finish->low, finish->high};
  job.num_threads = kernels::NumThreads();
  return std::make_unique<BlockKernel>(amp::NameOf(spec.multiplies), job, PlacesOf(spec), finish->sum);
}

bool CanWriteBlock(const Step&, const LaidOutProgram&, const Desc& layout) { return ImageOf(layout).has_value(); }

[[maybe_unused]] const bool kDepthwiseBlock = RegisterStepKind<DepthwiseBlockSpec>(
    {.assign_layouts = AssignBlock, .make_kernel = MakeBlock, .can_write = CanWriteBlock});

}  // namespace
}  // namespace amp::onednn
