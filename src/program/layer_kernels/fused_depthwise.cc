// Depthwise convolutions with the 1x1 convolutions around them.
#include "kernels/depthwise/fused_depthwise.h"

#include <string>
#include <utility>

#include "kernels/threads/parallel.h"
#include "program/layer_kernels/fused_depthwise_problem.h"
#include "program/layer_kernels/gemm_layer.h"
#include "program/layer_kernels/gemm_problem.h"
#include "program/step_features.h"
#include "program/step_graph.h"

namespace amp {
namespace {

using kernels::FusedDepthwise;

void RunBlock(const FusedDepthwise& job, const FusedDepthwisePlaces& places, const KernelOperands& operands) {
  const auto floats = [&](std::optional<std::size_t> i) {
    return i ? static_cast<const float*>(operands.input(*i)) : nullptr;
  };
  kernels::FusedDepthwiseData data;
  data.source = operands.input(0);
  if (places.expand_weights) data.expand_weights = operands.input(*places.expand_weights);
  data.expand_bias = floats(places.expand_bias);
  data.weights = floats(places.weights);
  data.bias = floats(places.bias);
  data.project_weights = operands.input(places.project_weights);
  data.project_bias = floats(places.project_bias);
  if (places.sum) data.sum = operands.input(*places.sum);
  data.destination = operands.output();
  kernels::RunFusedDepthwise(job, data, operands.scratch());
}

class BlockLayer : public Layer {
 public:
  BlockLayer(const FusedDepthwise& job, const FusedDepthwisePlaces& places, DType dtype)
      : job_(job), places_(places), dtype_(dtype) {}

  void Price(StepCost* cost) const override {
    cost->flops = FusedDepthwiseFlops(job_);
    cost->dtype = PeakOf(dtype_);
  }
  std::vector<float> Features() const override {
    const auto log2 = [](std::int64_t size) { return Log2Of(static_cast<double>(size)); };
    return {log2(job_.in_channels),  log2(job_.channels),
            log2(job_.out_channels), log2(job_.batch * job_.height * job_.width),
            log2(job_.out_width),    log2(job_.kernel_height * job_.kernel_width),
            log2(job_.stride)};
  }

  bool Reads(std::size_t input, const StridedTensor& tensor) const override {
    if (input == 0) return PositionsOf(tensor).has_value();
    return places_.sum == input && ImageOf(tensor);
  }
  OperandLayout LayoutOfInput(std::size_t input) const override {
    if (input == 0 || places_.sum == input) return OperandLayout::kChannelsLast;
    const bool is_packed =
        input == places_.weights || input == places_.project_weights || input == places_.expand_weights;
    return is_packed ? OperandLayout::kPacked : OperandLayout::kRowMajor;
  }
  bool Writes(const StridedTensor& result) const override { return ImageOf(result).has_value(); }
  OperandLayout LayoutOfResult() const override { return OperandLayout::kChannelsLast; }

  PackedWeights Pack(std::size_t input) const override {
    if (input == places_.expand_weights) return PackedGemmWeights(job_.Expansion(), dtype_);
    if (input == places_.project_weights) return PackedGemmWeights(job_.Projection(), dtype_);
    return {std::string("depthwise_") + NameOf(dtype_), kernels::PackedDepthwiseBytes(job_),
            [job = job_](const float* weights, void* packed) {
              kernels::PackDepthwiseWeights(job, weights, static_cast<float*>(packed));
            }};
  }

  std::unique_ptr<const OwnKernel> Make(const LayerOperands& operands) const override {
    FusedDepthwise job = job_;
    job.source = *PositionsOf(*operands.inputs[0]);
    job.destination = *ImageOf(operands.result);
    job.sum = places_.sum ? *ImageOf(*operands.inputs[*places_.sum]) : job.destination;
    job.num_threads = kernels::NumThreads();
    return MakeOwnKernel([job, places = places_](const KernelOperands& given) { RunBlock(job, places, given); },
                         kernels::FusedDepthwiseScratchBytes(job));
  }

 private:
  const FusedDepthwise job_;  // without strides of memory
  const FusedDepthwisePlaces places_;
  const DType dtype_;
};

// Source and weights of a depthwise convolution that bfloat16 multiplies are in it.
bool MayMultiplyTaps(const LayerSite& site, const Step& depthwise, DType dtype) {
  return dtype != DType::kBFloat16 || site.Multiplies(dtype, site.TypesOf(depthwise));
}

std::optional<FusedDepthwiseLayer> PartsOf(const LayerSite& site, DType dtype) {
  const Step& depthwise = *site.producers[0];
  const bool are_convolutions = std::holds_alternative<ConvolutionSpec>(site.step.spec) &&
                                std::holds_alternative<ConvolutionSpec>(depthwise.spec);
  if (!are_convolutions || !site.HasConstantWeights() || !site.HasConstantWeights(depthwise)) return std::nullopt;
  const StepTypes types = site.types();
  if (!site.IsChannelsLast() || !site.Multiplies(dtype, types) || !MayMultiplyTaps(site, depthwise, dtype))
    return std::nullopt;
  return BlockOf(depthwise, site.TypesOf(depthwise), site.step, types, dtype);
}

LayerMatch MatchOf(const LayerSite& site, const FusedDepthwiseLayer& block, std::size_t taken, DType dtype) {
  Step step = site.step;
  step.spec = FusedLayerSpec{"fused_depthwise"};
  step.post_ops.clear();
  step.inputs = block.inputs;
  for (std::size_t i = 0; i < taken; ++i) AddFused(*site.producers[i], &step);
  FusedDepthwise job = block.job;
  job.cache_bytes = site.machine.cache_bytes;
  return {std::move(step), std::make_shared<BlockLayer>(job, block.places, dtype)};
}

template <DType kDType>
std::optional<LayerMatch> MatchBlock(const LayerSite& site) {
  const auto block = PartsOf(site, kDType);
  return block ? std::optional(MatchOf(site, *block, 1, kDType)) : std::nullopt;
}

// Computes the product before that, too.
template <DType kDType>
std::optional<LayerMatch> MatchExpandingBlock(const LayerSite& site) {
  const Step& expand = *site.producers[1];
  const auto block = PartsOf(site, kDType);
  if (!block || !std::holds_alternative<ConvolutionSpec>(expand.spec) || !site.HasConstantWeights(expand))
    return std::nullopt;
  const StepTypes types = site.TypesOf(expand);
  if (!site.Multiplies(kDType, types)) return std::nullopt;
  if (kDType == DType::kInt16 && types.inputs[0].shape[1] > kernels::kGemmMaxChunk) return std::nullopt;
  const auto expanding = ExpandingBlockOf(expand, types, *block);
  return expanding ? std::optional(MatchOf(site, *expanding, 2, kDType)) : std::nullopt;
}

constexpr LayerKernel BlockKernelOf(const char* name, decltype(LayerKernel::match) match, std::size_t fused_producers,
                                    bool needs_samples) {
  return {.name = name,
          .match = match,
          .max_time_ratio = kMaxProductTimeRatio,
          .fused_producers = fused_producers,
          .needs_samples = needs_samples,
          .keeps_channels_last = true};
}

[[maybe_unused]] const bool kBlocks = RegisterLayerKernels({
    BlockKernelOf("fused_depthwise_float32", MatchBlock<DType::kFloat32>, 1, false),
    BlockKernelOf("fused_depthwise_bfloat16", MatchBlock<DType::kBFloat16>, 1, false),
    BlockKernelOf("fused_depthwise_int16", MatchBlock<DType::kInt16>, 1, true),
    BlockKernelOf("expanding_fused_depthwise_float32", MatchExpandingBlock<DType::kFloat32>, 2, false),
    BlockKernelOf("expanding_fused_depthwise_bfloat16", MatchExpandingBlock<DType::kBFloat16>, 2, false),
    BlockKernelOf("expanding_fused_depthwise_int16", MatchExpandingBlock<DType::kInt16>, 2, true),
});

}  // namespace
}  // namespace amp
