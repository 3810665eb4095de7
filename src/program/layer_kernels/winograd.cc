// Convolutions and deconvolutions by Winograd's algorithm.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kernels/threads/parallel.h"
#include "nnvm/error.h"
#include "program/epilogue.h"
#include "program/layer_kernel.h"
#include "program/layer_kernels/biased_deconvolution.h"
#include "program/layer_kernels/winograd_problem.h"
#include "program/step_cost.h"
#include "program/step_features.h"

namespace amp {
namespace {

using kernels::Winograd;
using kernels::WinogradImage;
using kernels::WinogradKind;

constexpr std::int64_t kWinogradBlock = kernels::kWinogradBlock;

// Channels last, or in blocks of 16 or 8 where the kernel knows them; nothing for other layouts. `channels`: of one
// group. With its axes as they lie.
std::optional<WinogradImage> ImageAsItLies(const StridedTensor& tensor, const Winograd& job, std::int64_t channels) {
  const int rank = tensor.type.shape.rank();
  const IntTuple& strides = tensor.strides;
  WinogradImage image;
  image.is_bf16 = tensor.is_bf16();
  image.batch = strides[0];
  if (rank == 5) image.slice = strides[2];
  image.pixel = strides[rank - 1];
  image.row = strides[rank - 2];
  if (rank == 3) image.row = std::exchange(image.pixel, image.pixel * job.in_height);  // rows are what gaps leave
  const std::int64_t block = tensor.channel_block;
  if (block == kWinogradBlock && channels % block == 0 && kernels::WinogradKnowsBlocks(job.kind)) {
    image.block = strides[1];
    image.group = channels / block * strides[1];
    return image;
  }
  if (block == kWinogradBlock / 2 && channels % block == 0 && kernels::WinogradKnowsBlocksOf8(job.kind)) {
    image.half = strides[1];
    image.block = 2 * strides[1];
    image.group = channels / block * strides[1];
    return image;
  }
  if (block != 0 || (tensor.type.shape[1] != 1 && strides[1] != 1)) return std::nullopt;
  image.block = kWinogradBlock;
  image.group = channels;
  return image;
}

// Images of one layer, as the kernel sees them.
struct WinogradImages {
  const Winograd& job;
  bool exchanged;  // see HasAxesExchanged

  std::optional<WinogradImage> Source(const StridedTensor& tensor) const {
    return Of(tensor, job.in_channels / job.slices, job.dilation);
  }
  std::optional<WinogradImage> Result(const StridedTensor& tensor) const {
    return Of(tensor, job.out_channels, std::max(job.dilation, job.stride));
  }

 private:
  // An image of every `every`-th row and column.
  std::optional<WinogradImage> Of(const StridedTensor& tensor, std::int64_t channels, std::int64_t every) const {
    std::optional<WinogradImage> image = ImageAsItLies(tensor, job, channels);
    if (!image) return std::nullopt;
    if (exchanged) std::swap(image->row, image->pixel);
    image->row *= every;
    image->pixel *= every;
    return image;
  }
};

// WinogradPlaces of operands among the inputs, behind source and weights.
struct WinogradPlaces {
  bool has_bias = false;
  std::optional<std::size_t> sum, slopes;
};

void RunTiles(const Winograd& job, const WinogradPlaces& places, const KernelOperands& operands) {
  kernels::WinogradData data;
  data.source = operands.input(0);
  data.weights = operands.input(1);
  if (places.has_bias) data.bias = static_cast<const float*>(operands.input(2));
  if (places.sum) data.sum = operands.input(*places.sum);
  if (places.slopes) data.slopes = static_cast<const float*>(operands.input(*places.slopes));
  data.destination = operands.output();
  kernels::RunWinograd(job, data, operands.scratch());
}

class WinogradLayer : public Layer {
 public:
  WinogradLayer(const Step& step, const StepTypes& types, WinogradKind kind, const Epilogue& epilogue,
                OperandLayout layout)
      : job_(WinogradProblem(step.spec, types, kind)),
        weights_(WinogradWeightsProblem(step.spec, types.inputs[1].shape, kind)),
        places_{HasBias(step), epilogue.sum, epilogue.slopes},
        layout_(layout),
        exchanged_(HasAxesExchanged(types)),
        weight_bytes_(static_cast<std::size_t>(types.inputs[1].shape.size()) * BytesOf(types.inputs[1].dtype)),
        features_(FeaturesOfProblem(step, types)) {
    const LinearEpilogue linear = *LinearEpilogueOf(epilogue);
    job_.low = epilogue.low;
    job_.high = epilogue.high;
    job_.is_leaky = linear.is_leaky;
    job_.slope = linear.negative_slope;
  }

  // Transformed weights are larger, and multiplied in a dtype of their own. Where caches do not hold them, between
  // weights of other layers, they come from memory: 512 channels at 7x7 in float32 took 2 to 3 times as long on Zen 4
  // and Zen 5 as tables say for such traffic, and direct convolutions less than they say. A wrong choice loses more
  // than a missed one.
  void Price(StepCost* cost) const override {
    constexpr std::size_t kFarBytes = 8 << 20, kFarFactor = 5;
    const std::size_t packed = kernels::PackedWinogradBytes(job_);
    cost->flops = WinogradFlops(job_);
    cost->bytes_read -= weight_bytes_;
    cost->bytes_read += packed > kFarBytes ? kFarFactor * packed : packed;
    cost->dtype = DType::kFloat32;
  }
  std::vector<float> Features() const override { return features_; }

  bool Reads(std::size_t input, const StridedTensor& tensor) const override {
    if (input == 0) return images().Source(tensor).has_value();
    return places_.sum == input && images().Result(tensor);
  }
  OperandLayout LayoutOfInput(std::size_t input) const override {
    if (input == 0) return layout_;
    if (input == 1) return OperandLayout::kPacked;
    return places_.sum == input ? OperandLayout::kChannelsLast : OperandLayout::kRowMajor;
  }
  bool Writes(const StridedTensor& result) const override { return images().Result(result).has_value(); }
  OperandLayout LayoutOfResult() const override { return layout_; }

  PackedWeights Pack(std::size_t) const override {
    std::string key = kernels::WinogradName(job_.kind);
    if (weights_.stride > 0) {
      key += fmt::format("_stride{}_pad{}_{}", weights_.stride, weights_.pad_top, weights_.pad_left);
    }
    return {key, kernels::PackedWinogradBytes(weights_), [job = weights_](const float* weights, void* packed) {
              kernels::PackWinogradWeights(job, weights, packed);
            }};
  }

  std::unique_ptr<const OwnKernel> Make(const LayerOperands& operands) const override {
    Winograd job = job_;
    job.source = *images().Source(*operands.inputs[0]);
    job.destination = *images().Result(operands.result);
    job.sum = places_.sum ? *images().Result(*operands.inputs[*places_.sum]) : job.destination;
    job.num_threads = kernels::NumThreads();
    return MakeOwnKernel([job, places = places_](const KernelOperands& given) { RunTiles(job, places, given); },
                         kernels::WinogradScratchBytes(job));
  }

 private:
  WinogradImages images() const { return {job_, exchanged_}; }

  // To the kernel slices of volumes are images with so many more channels.
  std::vector<float> FeaturesOfProblem(const Step& step, const StepTypes& types) const {
    const auto* deconvolution = std::get_if<DeconvolutionSpec>(&step.spec);
    const bool is_deconvolution = deconvolution != nullptr;
    const IntTuple& strides = is_deconvolution ? deconvolution->strides : std::get<ConvolutionSpec>(step.spec).strides;
    std::vector<float> features = WindowFeatures(types, is_deconvolution ? types.inputs[0] : types.outputs[0], strides);
    features[0] += Log2Of(static_cast<double>(job_.slices));
    features[5] -= Log2Of(static_cast<double>(job_.slices));
    return features;
  }

  Winograd job_;            // without strides of memory
  const Winograd weights_;  // what their packing depends on
  const WinogradPlaces places_;
  const OperandLayout layout_;
  const bool exchanged_;
  const std::size_t weight_bytes_;
  const std::vector<float> features_;
};

// Source and result lie as oneDNN's convolution would have them, so that what is around the layer stays as it is.
// nullopt: blocks that the kernel does not know; oneDNN adds no bias to deconvolutions, which are worth a reorder.
std::optional<OperandLayout> WinogradLayoutOf(const LayerSite& site, const Winograd& job) {
  const std::int64_t block = site.ChannelBlock(), in = job.in_channels / job.slices;
  if (block == 0) return OperandLayout::kChannelsLast;
  const bool knows = kernels::WinogradKnowsBlocks(job.kind) &&
                     (block == kWideChannelBlock || site.machine.winograd_knows_narrow_blocks);
  if (knows && in % block == 0 && job.out_channels % block == 0) {
    return block == kWideChannelBlock ? OperandLayout::kBlocksOf16 : OperandLayout::kBlocksOf8;
  }
  const bool is_deconvolution = std::holds_alternative<DeconvolutionSpec>(site.step.spec);
  return is_deconvolution ? std::optional(OperandLayout::kChannelsLast) : std::nullopt;
}

// Kinds that multiply int16 keep a layer's error below that of products of bfloat16; those that multiply bfloat16 have
// about twice of it.
bool MayMultiplyTiles(const LayerSite& site, const StepTypes& types, WinogradKind kind) {
  if (kernels::WinogradMultipliesInt16(kind)) return site.Multiplies(DType::kInt16, types);
  return !kernels::WinogradMultipliesBF16(kind) || (site.machine.has_tiles && site.Multiplies(DType::kBFloat16, types));
}

template <WinogradKind kKind>
std::optional<LayerMatch> MatchWinograd(const LayerSite& site) {
  const bool has_window = std::holds_alternative<ConvolutionSpec>(site.step.spec) ||
                          std::holds_alternative<DeconvolutionSpec>(site.step.spec);
  if (!has_window) return std::nullopt;
  const StepTypes types = site.types();
  const bool is_apt = IsForWinograd(site.step.spec, types, kKind) && HasKernelTypes(site.step, types);
  if (!is_apt || !MayMultiplyTiles(site, types, kKind)) return std::nullopt;
  const auto epilogue = EpilogueOf(site.step, types);
  const auto layout = WinogradLayoutOf(site, WinogradProblem(site.step.spec, types, kKind));
  if (!epilogue || !LinearEpilogueOf(*epilogue) || !layout) return std::nullopt;
  return LayerMatch{site.step, std::make_shared<WinogradLayer>(site.step, types, kKind, *epilogue, *layout)};
}

// Adds the bias that a step of its own adds, as oneDNN needs it, and what that step does beside.
template <WinogradKind kKind>
std::optional<LayerMatch> MatchBiased(const LayerSite& site) {
  const Step& deconvolution = *site.producers[0];
  const bool is_own = deconvolution.choice && deconvolution.choice->kernel != nullptr &&
                      deconvolution.choice->kernel->match == MatchWinograd<kKind>;
  if (!is_own || !std::holds_alternative<DeconvolutionSpec>(deconvolution.spec)) return std::nullopt;
  const std::optional<Step> biased = BiasedDeconvolution(deconvolution, site.step, site.program);
  if (!biased) return std::nullopt;
  return MatchWinograd<kKind>({site.program, site.constant, site.machine, *biased, {}, site.in_blocks});
}

// The limit for windows whose times are said to be like those of 3x3, whose formula they have, too.
constexpr double kMaxWindowTimeRatio = 0.8;
// The limit for the same kernel where it does what the step behind it does: one trip through memory less.
constexpr double kMaxBiasedTimeRatio = 1;

template <WinogradKind kKind>
LayerKernel WinogradKernelOf() {
  const bool is_usual = kernels::WinogradShapeOf(kKind).window() == 9;
  const bool is_int16 = kernels::WinogradMultipliesInt16(kKind);
  const char* usual = kernels::WinogradName(is_int16 ? WinogradKind::kF4x4Int16 : WinogradKind::kF4x4);
  return {.name = kernels::WinogradName(kKind),
          .match = MatchWinograd<kKind>,
          .max_time_ratio = is_usual ? kMaxTimeRatio : kMaxWindowTimeRatio,
          .needs_samples = !is_usual || kernels::WinogradMultipliesBF16(kKind),
          .fallback = is_usual ? nullptr : usual};
}

template <WinogradKind kKind>
LayerKernel BiasedKernelOf() {
  static const std::string name = std::string("biased_") + kernels::WinogradName(kKind);
  LayerKernel kernel = WinogradKernelOf<kKind>();
  kernel.name = name.c_str();
  kernel.match = MatchBiased<kKind>;
  kernel.max_time_ratio = kMaxBiasedTimeRatio;
  kernel.fused_producers = 1;
  kernel.samples = kernels::WinogradName(kKind);
  return kernel;
}

template <int... kKinds>
bool RegisterAll(std::integer_sequence<int, kKinds...>) {
  return RegisterLayerKernels({WinogradKernelOf<static_cast<WinogradKind>(kKinds)>()...});
}

template <WinogradKind... kKinds>
bool RegisterBiased() {
  return RegisterLayerKernels({BiasedKernelOf<kKinds>()...});
}

using enum WinogradKind;
[[maybe_unused]] const bool kWinograd = RegisterAll(std::make_integer_sequence<int, kernels::kNumWinogradKinds>()) &&
                                        RegisterBiased<kF4x4, k2x2, k2x2Int16>();  // no network chooses others

}  // namespace
}  // namespace amp
