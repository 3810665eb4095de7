#include "dnnl/step_kinds/winograd.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dnnl/step_kind.h"
#include "dnnl/step_kinds/pointwise.h"
#include "kernels/cast.h"
#include "kernels/parallel.h"
#include "nnvm/error.h"
#include "program/winograd_job.h"

namespace amp::onednn {
namespace {

using kernels::Winograd;
using kernels::WinogradImage;

constexpr std::int64_t kBlock = kernels::kWinogradBlock;

// Of how many channels; 0 where there are none, or others.
std::int64_t ChannelBlockOf(const Desc& desc) {
  const bool has_block = desc.get_inner_nblks() == 1 && desc.get_inner_idxs()[0] == 1;
  return has_block ? desc.get_inner_blks()[0] : 0;
}

// Channels last, or in blocks of 16 or 8 where the kernel knows them; nothing for other layouts. `channels`: of one
// group. With its axes as they lie.
std::optional<WinogradImage> ImageAsItLies(const Desc& desc, const Winograd& job, std::int64_t channels) {
  const int ndims = desc.get_ndims();
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked || ndims < 3 || ndims > 5) return std::nullopt;
  const dnnl::memory::dims dims = desc.get_dims(), strides = desc.get_strides();
  WinogradImage image;
  image.is_bf16 = desc.get_data_type() == dnnl::memory::data_type::bf16;
  image.batch = strides[0];
  if (ndims == 5) image.slice = strides[2];
  image.pixel = strides[ndims - 1];
  image.row = strides[ndims - 2];
  if (ndims == 3) image.row = std::exchange(image.pixel, image.pixel * job.in_height);  // rows are what gaps leave
  const std::int64_t block = ChannelBlockOf(desc);
  if (block == kBlock && channels % block == 0 && kernels::WinogradKnowsBlocks(job.kind)) {
    image.block = strides[1];
    image.group = channels / block * strides[1];
    return image;
  }
  if (block == kBlock / 2 && channels % block == 0 && kernels::WinogradKnowsBlocksOf8(job.kind)) {
    image.half = strides[1];
    image.block = 2 * strides[1];
    image.group = channels / block * strides[1];
    return image;
  }
  if (desc.get_inner_nblks() != 0 || (dims[1] != 1 && strides[1] != 1)) return std::nullopt;
  image.block = kBlock;
  image.group = channels;
  return image;
}

// Images of one step, as the kernel sees them.
struct WinogradImages {
  const Winograd& job;
  bool exchanged;  // see HasAxesExchanged

  // Of rows and columns `every` so many.
  std::optional<WinogradImage> Of(const Desc& desc, std::int64_t channels, std::int64_t every) const {
    std::optional<WinogradImage> image = ImageAsItLies(desc, job, channels);
    if (!image) return std::nullopt;
    if (exchanged) std::swap(image->row, image->pixel);
    image->row *= every;
    image->pixel *= every;
    return image;
  }
  std::optional<WinogradImage> Source(const Desc& desc) const {
    return Of(desc, job.in_channels / job.slices, job.spacing);
  }
  std::optional<WinogradImage> Result(const Desc& desc) const {
    return Of(desc, job.out_channels, std::max(job.spacing, job.stride));
  }
};

// ---- weights ----

class WinogradWeightsKernel : public OwnKernel {
 public:
  WinogradWeightsKernel(const Winograd& job, bool is_bf16, std::int64_t count)
      : job_(job), is_bf16_(is_bf16), count_(count) {}

  std::size_t ScratchBytes() const override { return is_bf16_ ? static_cast<std::size_t>(count_) * sizeof(float) : 0; }

  void Run(const KernelOperands& operands) const override {
    const void* weights = operands.input(0);
    if (is_bf16_) {
      kernels::Cast(kernels::ElementType::kBFloat16, weights, kernels::ElementType::kFloat32, operands.scratch(),
                    static_cast<std::size_t>(count_));
      weights = operands.scratch();
    }
    kernels::PackWinogradWeights(job_, static_cast<const float*>(weights), operands.output());
  }

 private:
  Winograd job_;  // groups, channels and kind
  bool is_bf16_;
  std::int64_t count_;
};

std::unique_ptr<const OwnKernel> MakeWinogradWeights(const Step& step, const LaidOutProgram& program) {
  const TensorType& weights = program.TypeOf(step.inputs[0]);
  return std::make_unique<WinogradWeightsKernel>(WinogradJob(std::get<WinogradWeightsSpec>(step.spec), weights.shape),
                                                 weights.dtype == DType::kBFloat16, weights.shape.size());
}

ValueId PackedWinograd(LayoutBuilder* builder, const Step& step) {
  const WinogradWeightsSpec spec = *WinogradWeightsOf(step);
  const ValueId weights = step.inputs[1];
  const std::size_t bytes = kernels::PackedWinogradBytes(WinogradJob(spec, builder->TypeOf(weights).shape));
  std::string name = builder->NameOf(weights) + ":" + kernels::WinogradName(spec.kind);
  if (spec.stride > 0) name += fmt::format("_stride{}_pad{}_{}", spec.stride, spec.pad_top, spec.pad_left);
  return builder->Derived(weights, spec, name, PlainDesc({DType::kUInt8, Shape{static_cast<std::int64_t>(bytes)}}),
                          step.node);
}

[[maybe_unused]] const bool kWinogradWeights =
    RegisterStepKind<WinogradWeightsSpec>({.make_kernel = MakeWinogradWeights});

// ---- convolutions ----

class WinogradKernel : public OwnKernel {
 public:
  WinogradKernel(const Winograd& job, bool has_bias, const ConvolutionFinish& finish)
      : job_(job), has_bias_(has_bias), finish_(finish) {}

  std::string Name() const override { return kernels::WinogradName(job_.kind); }
  std::size_t ScratchBytes() const override { return kernels::WinogradScratchBytes(job_); }

  void Run(const KernelOperands& operands) const override {
    kernels::WinogradData data;
    data.source = operands.input(0);
    data.weights = operands.input(1);
    if (has_bias_) data.bias = static_cast<const float*>(operands.input(2));
    if (finish_.sum) data.sum = operands.input(*finish_.sum);
    if (finish_.bend && finish_.bend->of_channels)
      data.slopes = static_cast<const float*>(operands.input(*finish_.bend->of_channels));
    data.destination = operands.output();
    kernels::RunWinograd(job_, data, operands.scratch());
  }

 private:
  Winograd job_;
  bool has_bias_;
  ConvolutionFinish finish_;
};

// Where source and result of the library's primitive would lie; channels last where it has none, and for a
// deconvolution where the kernel does not know that: the library does not add its bias.
std::pair<Desc, Desc> LayoutsOfLibrary(const Step& step, const StepTypes& types, const WinogradImages& images) {
  const auto prepared = Prepare(step, types.inputs, types.outputs[0], {});
  if (prepared && !prepared->is_reference()) {
    const Desc &source = prepared->inputs[0], &result = prepared->outputs[0];
    const bool is_known = images.Source(source) && images.Result(result);
    if (is_known || std::holds_alternative<ConvolutionSpec>(step.spec)) return {source, result};
  }
  return {ChannelsLast(types.inputs[0]), ChannelsLast(types.outputs[0])};
}

}  // namespace

bool AssignWinograd(LayoutBuilder* builder, const Step& given) {
  constexpr const char* kReason = "our kernel reads channels last";
  const StepTypes types = TypesOf(*builder, given);
  const Winograd job = WinogradJob(given, types);
  const auto finish = FinishOf(given, types);
  const WinogradImages images{job, HasAxesExchanged(types)};
  const auto [source, result] = LayoutsOfLibrary(given, types, images);
  if (!finish || !images.Source(source) || !images.Result(result)) return false;
  Step step = given;
  if (!images.Source(builder->LayoutOf(step.inputs[0]))) {
    step.inputs[0] = builder->InLayout(step.inputs[0], source, step.node, kReason);
  }
  step.inputs[1] = PackedWinograd(builder, step);
  if (HasBias(step)) step.inputs[2] = builder->InRowMajor(step.inputs[2], step.node, kReason);
  if (finish->sum && !images.Result(builder->LayoutOf(step.inputs[*finish->sum]))) {
    ValueId& sum = step.inputs[*finish->sum];
    sum = builder->InLayout(sum, ChannelsLast(builder->TypeOf(sum)), step.node, kReason);
  }
  if (finish->bend && finish->bend->of_channels) {
    ValueId& slopes = step.inputs[*finish->bend->of_channels];
    slopes = builder->InRowMajor(slopes, step.node, kReason);
  }
  builder->SetLayout(step.outputs[0], result);
  builder->Append(std::move(step));
  return true;
}

std::unique_ptr<const OwnKernel> MakeWinograd(const Step& step, const LaidOutProgram& program) {
  const StepTypes types = program.TypesOf(step);
  Winograd job = WinogradJob(step, types);
  const auto finish = FinishOf(step, types);
  const WinogradImages images{job, HasAxesExchanged(types)};
  const auto source = images.Source(program.layouts[step.inputs[0]]),
             result = images.Result(program.layouts[step.outputs[0]]),
             sum = finish && finish->sum ? images.Result(program.layouts[step.inputs[*finish->sum]]) : result;
  if (!finish || !source || !result || !sum)
    throw InternalError("a Winograd convolution in layouts that it does not know");
  job.source = *source;
  job.destination = *result;
  job.sum = *sum;
  job.low = finish->low;
  job.high = finish->high;
  job.bends = finish->bend.has_value();
  if (finish->bend) job.slope = finish->bend->all;
  job.num_threads = kernels::NumThreads();
  return std::make_unique<WinogradKernel>(job, HasBias(step), *finish);
}

bool CanWriteWinograd(const Step& step, const LaidOutProgram& program, const Desc& layout) {
  const StepTypes types = program.TypesOf(step);
  const Winograd job = WinogradJob(step, types);
  return WinogradImages{job, HasAxesExchanged(types)}.Result(layout).has_value();
}

}  // namespace amp::onednn
