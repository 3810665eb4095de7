#include "program/kernel_candidates.h"

#include <array>
#include <utility>

#include "program/depthwise_block_job.h"
#include "program/finished_deconvolution.h"
#include "program/pointwise_job.h"
#include "program/step_graph.h"
#include "program/winograd_job.h"

namespace amp {
namespace {

using kernels::WinogradKind;

// Predictions err: a smaller gain may be a loss.
constexpr double kLeastGain = 0.92;
// Of windows whose times are said to be like those of 3x3.
constexpr double kLeastWindowGain = 0.8;
// Of products with the same arithmetic as the library's. Tables say up to twice the time that small layers take in a
// network, because they measure layers by themselves; our law does not. With 0.7 Zen 5 lost 7 % of MobileNetV2 in
// bfloat16 at batch 1, with 0.5 3 %.
constexpr double kLeastProductGain = 0.3;
// Of the same kernel, which does what the step behind it does: one trip through memory less.
constexpr double kLeastFinishGain = 1;

// Source and weights.
bool ReadsBF16(const StepTypes& types) {
  return types.inputs[0].dtype == DType::kBFloat16 && types.inputs[1].dtype == DType::kBFloat16;
}

// Kinds that multiply int16 keep a layer's error below that of products of bfloat16; those that multiply bfloat16 have
// about twice of it.
template <WinogradKind kKind>
std::optional<Step> ProposeWinograd(const KernelSite& site) {
  const StepTypes types = site.TypesOf(site.step);
  if (!IsForWinograd(site.step, types, kKind)) return std::nullopt;
  if (kernels::WinogradMultipliesInt16(kKind) && !(site.machine.has_int16 && ReadsBF16(types))) return std::nullopt;
  if (kernels::WinogradMultipliesBF16(kKind) && !(site.machine.has_tiles && ReadsBF16(types))) return std::nullopt;
  Step step = site.step;
  if (auto* deconvolution = std::get_if<DeconvolutionSpec>(&step.spec)) {
    deconvolution->winograd = kKind;
  } else {
    std::get<ConvolutionSpec>(step.spec).winograd = kKind;
  }
  return step;
}

// Whether the CPU multiplies the dtype, and the step reads what is multiplied so.
template <DType kDType>
bool MayMultiply(const KernelSite& site, const StepTypes& types) {
  if (kDType == DType::kBFloat16) return site.machine.has_bf16 && ReadsBF16(types);
  return kDType != DType::kInt16 || (site.machine.has_int16 && ReadsBF16(types));
}

// A convolution that takes steps before it may have got a kernel by itself before.
void ForgetKernel(ConvolutionSpec* spec) {
  spec->winograd.reset();
  spec->pointwise.reset();
  spec->strassen = false;
  spec->image.reset();
}

template <DType kDType, auto kIsFor = IsForPointwise>
std::optional<Step> ProposePointwise(const KernelSite& site) {
  const StepTypes types = site.TypesOf(site.step);
  if (!site.HasConstantWeights() || !kIsFor(site.step, types) || !MayMultiply<kDType>(site, types)) return std::nullopt;
  Step step = site.step;
  auto& spec = std::get<ConvolutionSpec>(step.spec);
  ForgetKernel(&spec);
  spec.pointwise = kDType;
  return step;
}

// Only where results with channels last are what the layers behind it read.
template <DType kDType>
std::optional<Step> ProposeImage(const KernelSite& site) {
  const bool is_apt = site.HasConstantWeights() && site.IsChannelsLast();
  const StepTypes types = site.TypesOf(site.step);
  if (!is_apt || !IsForImageConvolution(site.step, types) || !MayMultiply<kDType>(site, types)) return std::nullopt;
  Step step = site.step;
  auto& spec = std::get<ConvolutionSpec>(step.spec);
  ForgetKernel(&spec);
  spec.image = kDType;
  return step;
}

template <DType kDType>
std::optional<Step> ProposeDense(const KernelSite& site) {
  const StepTypes types = site.TypesOf(site.step);
  if (!site.HasConstantWeights() || !MayMultiply<kDType>(site, types)) return std::nullopt;
  Step step = site.step;
  auto* spec = std::get_if<InnerProductSpec>(&step.spec);
  if (spec == nullptr) return std::nullopt;
  spec->product = kDType;
  if (!IsForDense(step, types)) return std::nullopt;
  return step;
}

// What `kPropose` proposes, by Strassen's algorithm.
template <class Spec, auto kPropose, auto kJobOf>
std::optional<Step> ProposeStrassen(const KernelSite& site) {
  std::optional<Step> step = kPropose(site);
  if (!step || !IsForStrassen(kJobOf(std::get<Spec>(step->spec), site.TypesOf(*step)))) return std::nullopt;
  std::get<Spec>(step->spec).strassen = true;
  return step;
}
template <DType kDType>
constexpr auto ProposePointwiseStrassen = ProposeStrassen<ConvolutionSpec, ProposePointwise<kDType>, PointwiseJob>;
template <DType kDType>
constexpr auto ProposeDenseStrassen = ProposeStrassen<InnerProductSpec, ProposeDense<kDType>, DenseJob>;

// With the conversion of the image, which the kernel rounds itself.
std::optional<Step> ProposeCastImage(const KernelSite& site) {
  const Step& cast = *site.producers[0];
  const bool is_cast = std::holds_alternative<CastSpec>(cast.spec) && cast.post_ops.empty();
  std::optional<Step> step = ProposeImage<DType::kBFloat16>(site);
  if (!is_cast || !step || site.TypesOf(cast).inputs[0].dtype != DType::kFloat32) return std::nullopt;
  step->inputs[0] = cast.inputs[0];
  AddFused(cast, &*step);
  return step;
}

// With the max pooling of its results, which are then written nowhere else. Each thread keeps the rows of a window.
template <DType kDType>
std::optional<Step> ProposePooledImage(const KernelSite& site) {
  constexpr std::int64_t kMaxHeight = 8;
  const Step& convolution = *site.producers[0];
  const auto* pooling = std::get_if<PoolingSpec>(&site.step.spec);
  const auto* image = std::get_if<ConvolutionSpec>(&convolution.spec);
  if (pooling == nullptr || pooling->kind != PoolingKind::kMax || !site.step.post_ops.empty() || image == nullptr)
    return std::nullopt;
  const StepTypes types = site.TypesOf(convolution);
  const bool is_apt = site.HasConstantWeights(convolution) && site.IsChannelsLast();
  if (pooling->kernel[0] > kMaxHeight || !is_apt || !IsForImageConvolution(convolution, types)) return std::nullopt;
  // That which rounds its image itself does not read what others would multiply.
  const bool may_multiply = image->image ? *image->image == kDType : MayMultiply<kDType>(site, types);
  if (!may_multiply || ProductFinishOf(convolution, types)->sum) return std::nullopt;
  Step step = convolution;
  auto& spec = std::get<ConvolutionSpec>(step.spec);
  ForgetKernel(&spec);
  spec.image = kDType;
  spec.pool = {pooling->kernel, pooling->strides, pooling->pads_begin, types.outputs[0].shape};
  step.outputs = site.step.outputs;
  step.node = site.step.node;
  step.fused = site.step.fused;
  AddFused(convolution, &step);
  return step;
}

// With the bias that a step of its own adds, as the library needs it, and what that step does beside.
std::optional<Step> ProposeFinishedDeconvolution(const KernelSite& site) {
  const auto* spec = std::get_if<DeconvolutionSpec>(&site.producers[0]->spec);
  if (spec == nullptr || !spec->winograd) return std::nullopt;
  std::optional<Step> step = FinishedDeconvolution(*site.producers[0], site.step, site.program);
  return step && IsForWinograd(*step, site.TypesOf(*step), *spec->winograd) ? step : std::nullopt;
}

// With the scale and shift of its source.
template <DType kDType>
std::optional<Step> ProposeScaledPointwise(const KernelSite& site) {
  const Step& before = *site.producers[0];
  const auto* scale = std::get_if<ScaleShiftSpec>(&before.spec);
  std::optional<Step> step = ProposePointwise<kDType>(site);
  if (scale == nullptr || !before.post_ops.empty() || !step) return std::nullopt;
  std::get<ConvolutionSpec>(step->spec).source_bounds = {scale->low, scale->high};
  const std::vector<ValueId>& operands = before.inputs;
  step->inputs[0] = operands[0];
  step->inputs.insert(step->inputs.end(), {operands[1], operands[2]});
  AddFused(before, &*step);
  return IsForPointwise(*step, site.TypesOf(*step)) ? step : std::nullopt;
}

// With the depthwise convolution before it.
template <DType kDType>
std::optional<Step> ProposeBlock(const KernelSite& site) {
  const Step& depthwise = *site.producers[0];
  const bool has_weights = site.HasConstantWeights() && site.HasConstantWeights(depthwise);
  if (!has_weights || !site.IsChannelsLast()) return std::nullopt;
  const StepTypes types = site.TypesOf(site.step);
  if (!MayMultiply<kDType>(site, types)) return std::nullopt;
  const StepTypes depthwise_types = site.TypesOf(depthwise);
  if (kDType == DType::kBFloat16 && !ReadsBF16(depthwise_types)) return std::nullopt;
  std::optional<Step> block = BlockOf(depthwise, depthwise_types, site.step, types);
  if (block) std::get<DepthwiseBlockSpec>(block->spec).multiplies = kDType;
  return block;
}

// With the product before that, too.
template <DType kDType>
std::optional<Step> ProposeExpandingBlock(const KernelSite& site) {
  const Step& expand = *site.producers[1];
  const std::optional<Step> block = ProposeBlock<kDType>(site);
  if (!block || !site.HasConstantWeights(expand)) return std::nullopt;
  const StepTypes types = site.TypesOf(expand);
  if (!MayMultiply<kDType>(site, types)) return std::nullopt;
  if (kDType == DType::kInt16 && types.inputs[0].shape[1] > kernels::kPointwiseMaxChunk) return std::nullopt;
  return ExpandingBlockOf(expand, types, *block);
}

constexpr DType kF32 = DType::kFloat32, kBF16 = DType::kBFloat16, kI16 = DType::kInt16;
constexpr std::array<KernelCandidate, 42> kCandidates = {{
    {"winograd_f4x4_f32", kLeastGain, 0, ProposeWinograd<WinogradKind::kF4x4>},
    {"winograd_f2x2_f32", kLeastGain, 0, ProposeWinograd<WinogradKind::kF2x2>},
    {"winograd_f4x4_int16", kLeastGain, 0, ProposeWinograd<WinogradKind::kF4x4Int16>},
    {"winograd_f4x2_int16", kLeastGain, 0, ProposeWinograd<WinogradKind::kF4x2Int16>},
    {"winograd_f2x2_int16", kLeastGain, 0, ProposeWinograd<WinogradKind::kF2x2Int16>},
    {"winograd_f1x4_bf16", kLeastGain, 0, ProposeWinograd<WinogradKind::kF1x4BF16>},
    {"winograd_line7_f32", kLeastWindowGain, 0, ProposeWinograd<WinogradKind::kLine7>},
    {"winograd_line3_f32", kLeastWindowGain, 0, ProposeWinograd<WinogradKind::kLine3>},
    {"winograd_5x5_f32", kLeastWindowGain, 0, ProposeWinograd<WinogradKind::k5x5>},
    {"winograd_2x2_f32", kLeastWindowGain, 0, ProposeWinograd<WinogradKind::k2x2>},
    {"winograd_line7_int16", kLeastWindowGain, 0, ProposeWinograd<WinogradKind::kLine7Int16>},
    {"winograd_line3_int16", kLeastWindowGain, 0, ProposeWinograd<WinogradKind::kLine3Int16>},
    {"winograd_5x5_int16", kLeastWindowGain, 0, ProposeWinograd<WinogradKind::k5x5Int16>},
    {"winograd_2x2_int16", kLeastWindowGain, 0, ProposeWinograd<WinogradKind::k2x2Int16>},
    {"pointwise_float32", kLeastProductGain, 0, ProposePointwise<kF32>},
    {"pointwise_bfloat16", kLeastProductGain, 0, ProposePointwise<kBF16>},
    {"pointwise_int16", kLeastProductGain, 0, ProposePointwise<kI16>},
    {"pointwise_strassen_float32", kLeastProductGain, 0, ProposePointwiseStrassen<kF32>},
    {"pointwise_strassen_int16", kLeastProductGain, 0, ProposePointwiseStrassen<kI16>},
    {"windows_float32", kLeastProductGain, 0, ProposePointwise<kF32, IsForWindows>},
    {"windows_bfloat16", kLeastProductGain, 0, ProposePointwise<kBF16, IsForWindows>},
    {"windows_int16", kLeastProductGain, 0, ProposePointwise<kI16, IsForWindows>},
    {"image_convolution_float32", kLeastGain, 0, ProposeImage<kF32>},
    {"image_convolution_bfloat16", kLeastGain, 0, ProposeImage<kBF16>},
    {"dense_float32", kLeastGain, 0, ProposeDense<kF32>},
    {"dense_bfloat16", kLeastGain, 0, ProposeDense<kBF16>},
    {"dense_int16", kLeastProductGain, 0, ProposeDense<kI16>},
    {"dense_strassen_float32", kLeastProductGain, 0, ProposeDenseStrassen<kF32>},
    {"dense_strassen_int16", kLeastProductGain, 0, ProposeDenseStrassen<kI16>},
    {"cast_image_convolution_bfloat16", kLeastGain, 1, ProposeCastImage},
    {"pooled_image_convolution_float32", kLeastGain, 1, ProposePooledImage<kF32>},
    {"pooled_image_convolution_bfloat16", kLeastGain, 1, ProposePooledImage<kBF16>},
    {"finished_deconvolution", kLeastFinishGain, 1, ProposeFinishedDeconvolution},
    {"scaled_pointwise_float32", kLeastGain, 1, ProposeScaledPointwise<kF32>},
    {"scaled_pointwise_bfloat16", kLeastGain, 1, ProposeScaledPointwise<kBF16>},
    {"scaled_pointwise_int16", kLeastProductGain, 1, ProposeScaledPointwise<kI16>},
    {"depthwise_block_float32", kLeastProductGain, 1, ProposeBlock<kF32>},
    {"depthwise_block_bfloat16", kLeastProductGain, 1, ProposeBlock<kBF16>},
    {"depthwise_block_int16", kLeastProductGain, 1, ProposeBlock<kI16>},
    {"expanding_depthwise_block_float32", kLeastProductGain, 2, ProposeExpandingBlock<kF32>},
    {"expanding_depthwise_block_bfloat16", kLeastProductGain, 2, ProposeExpandingBlock<kBF16>},
    {"expanding_depthwise_block_int16", kLeastProductGain, 2, ProposeExpandingBlock<kI16>},
}};

}  // namespace

StepTypes KernelSite::TypesOf(const Step& of) const {
  StepTypes types;
  for (const ValueId v : of.inputs) types.inputs.push_back(program.values[v].type);
  for (const ValueId v : of.outputs) types.outputs.push_back(program.values[v].type);
  return types;
}

bool KernelSite::IsChannelsLast() const {
  if (machine.onednn_is_channels_last) return true;
  return !machine.onednn_has_bf16 && TypesOf(step).inputs[0].dtype == DType::kBFloat16;  // only own kernels read it
}

std::span<const KernelCandidate> KernelCandidates() { return kCandidates; }

}  // namespace amp
