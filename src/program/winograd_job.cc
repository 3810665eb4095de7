#include "program/winograd_job.h"

#include <algorithm>
#include <utility>

namespace amp {
namespace {

using kernels::WinogradKind;

// The last two axes of weights.
struct WindowSize {
  std::int64_t height, width;
};
WindowSize SizeOfWindow(const Shape& weights) { return {weights[weights.rank() - 2], weights[weights.rank() - 1]}; }

bool HasWindowOf(WinogradKind kind, const StepTypes& types) {
  const Shape &source = types.inputs[0].shape, &weights = types.inputs[1].shape;
  if (source.rank() != 4 || weights.rank() < 4) return false;
  WindowSize window = SizeOfWindow(weights);
  if (HasAxesExchanged(weights)) std::swap(window.height, window.width);
  const kernels::WinogradShape shape = kernels::WinogradShapeOf(kind);
  return window.height == shape.window_height && window.width == shape.window_width;
}

// Positions beyond these see nothing of the image. `spacing`: see kernels::Winograd.
bool IsWithin(const IntTuple& pads, const WindowSize& window, std::int64_t spacing) {
  return pads[0] >= 0 && pads[0] < spacing * window.height && pads[1] >= 0 && pads[1] < spacing * window.width;
}

bool AreMultiples(const IntTuple& values, std::int64_t of) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v % of == 0; });
}

// Without gaps, or images that gaps divide into images of one size. Those of 5x5 gained nothing: oneDNN skips what lies
// in the padding.
bool HasAptGaps(const ConvolutionSpec& spec, const StepTypes& types, WinogradKind kind) {
  constexpr std::int64_t kLeastSize = 8;
  const std::int64_t spacing = spec.dilates[0] + 1;
  if (spacing == 1 && spec.dilates[1] == 0) return true;
  const Shape &source = types.inputs[0].shape, &result = types.outputs[0].shape;
  return spec.dilates[1] == spec.dilates[0] && !kernels::WinogradMultipliesBF16(kind) &&
         AreMultiples(spec.pads_begin, spacing) && AreMultiples(spec.pads_end, spacing) &&
         AreMultiples({source[2], source[3], result[2], result[3]}, spacing) &&
         std::min(result[2], result[3]) >= kLeastSize * spacing;
}

// Groups of 16 and 32 channels at 14x14 and 7x7 took 1.2 to 1.5 times as long as direct convolutions on Zen 5: their
// matrices are too small.
bool HasLargeGroups(const kernels::Winograd& job) {
  constexpr std::int64_t kLeastChannels = 64;
  return job.groups == 1 || std::min(job.in_channels, job.out_channels) >= kLeastChannels;
}

template <class Spec>
bool TakesEachPosition(const Spec& spec, const WindowSize& window) {
  const std::int64_t spacing = spec.dilates[0] + 1;
  return AreAll(spec.strides, 1) && IsWithin(spec.pads_begin, window, spacing) &&
         IsWithin(spec.pads_end, window, spacing);
}

bool IsForWindowOf(WinogradKind kind, const StepSpec& spec, const StepTypes& types) {
  const auto* convolution = std::get_if<ConvolutionSpec>(&spec);
  const auto* mirrored = std::get_if<DeconvolutionSpec>(&spec);  // see AsConvolution
  if ((convolution == nullptr && mirrored == nullptr) || !HasWindowOf(kind, types)) return false;
  const WindowSize window = SizeOfWindow(types.inputs[1].shape);
  if (convolution != nullptr) return TakesEachPosition(*convolution, window) && HasAptGaps(*convolution, types, kind);
  return window.height == 3 && window.width == 3 && AreAll(mirrored->dilates, 0) &&
         TakesEachPosition(*mirrored, window);
}

}  // namespace

bool HasAxesExchanged(const Shape& weights) {
  const WindowSize window = SizeOfWindow(weights);
  return window.width == 1 && window.height > 1;
}

bool IsForWinograd(const Step& step, const StepTypes& types, WinogradKind kind) {
  return IsForWindowOf(kind, step.spec, types) && HasKernelTypes(step, types) && types.outputs[0].shape.size() > 0 &&
         types.inputs[0].shape.size() > 0 && HasLargeGroups(WinogradJob(step, types)) && FinishOf(step, types);
}

ConvolutionSpec AsConvolution(const DeconvolutionSpec& spec) {
  ConvolutionSpec window{spec.strides, spec.dilates, spec.pads_begin, spec.pads_end};
  for (std::int64_t& pad : window.pads_begin) pad = 2 - pad;
  for (std::int64_t& pad : window.pads_end) pad = 2 - pad;
  window.winograd = spec.winograd;
  return window;
}

std::optional<WinogradWeightsSpec> WinogradWeightsOf(const Step& step) {
  const auto* window = std::get_if<ConvolutionSpec>(&step.spec);
  if (window != nullptr && window->winograd) return WinogradWeightsSpec{*window->winograd, false};
  const auto* mirrored = std::get_if<DeconvolutionSpec>(&step.spec);
  if (mirrored != nullptr && mirrored->winograd) return WinogradWeightsSpec{*mirrored->winograd, true};
  return std::nullopt;
}

kernels::Winograd WinogradJob(const Step& step, const StepTypes& types) {
  const auto* deconvolution = std::get_if<DeconvolutionSpec>(&step.spec);
  if (deconvolution == nullptr) return WinogradJob(std::get<ConvolutionSpec>(step.spec), types);
  kernels::Winograd job = WinogradJob(AsConvolution(*deconvolution), types);
  job.mirrored = true;
  return job;
}

// Weights (O, I, height, width) or (G, O/G, I/G, height, width).
kernels::Winograd WinogradJob(const WinogradWeightsSpec& spec, const Shape& weights) {
  kernels::Winograd job;
  job.kind = spec.kind;
  job.mirrored = spec.mirrored;
  const int first = weights.rank() - 4;
  job.groups = first == 1 ? weights[0] : 1;
  job.out_channels = weights[first];
  job.in_channels = weights[first + 1];
  return job;
}

kernels::Winograd WinogradJob(const ConvolutionSpec& spec, const StepTypes& types) {
  const Shape &source = types.inputs[0].shape, &weights = types.inputs[1].shape, &out = types.outputs[0].shape;
  kernels::Winograd job;
  job.kind = spec.winograd.value_or(WinogradKind::kF4x4);
  job.spacing = spec.dilates[0] + 1;
  job.batch = source[0] * job.spacing * job.spacing;
  job.groups = weights.rank() == 5 ? weights[0] : 1;
  job.in_channels = source[1] / job.groups;
  job.out_channels = out[1] / job.groups;
  job.in_height = source[2] / job.spacing;
  job.in_width = source[3] / job.spacing;
  job.out_height = out[2] / job.spacing;
  job.out_width = out[3] / job.spacing;
  job.pad_top = spec.pads_begin[0] / job.spacing;
  job.pad_left = spec.pads_begin[1] / job.spacing;
  if (HasAxesExchanged(weights)) {
    std::swap(job.in_height, job.in_width);
    std::swap(job.out_height, job.out_width);
    std::swap(job.pad_top, job.pad_left);
  }
  return job;
}

// Kernels reach nine tenths of the arithmetic peak of float32, twice as much with int16. What one number of a
// transformed tile takes was measured on Zen 5 for float32, on Zen 4 for int16.
double WinogradFlops(const kernels::Winograd& job) {
  const bool is_int16 = kernels::WinogradMultipliesInt16(job.kind);
  const double of_peak = is_int16 ? 1.8 : 0.9;
  const double transform = is_int16 ? 44 : job.kind == WinogradKind::kF4x4 ? 38 : 32;
  const auto ceil = [](std::int64_t size, std::int64_t tile) { return static_cast<double>((size + tile - 1) / tile); };
  const double tiles = static_cast<double>(job.batch * job.groups) *
                       ceil(job.out_height, kernels::WinogradShapeOf(job.kind).tile_height) *
                       ceil(job.out_width, kernels::WinogradShapeOf(job.kind).tile_width);
  const double numbers = tiles * static_cast<double>(kernels::WinogradShapeOf(job.kind).products());
  constexpr std::int64_t kBlock = kernels::kWinogradBlock;  // with fewer channels lanes stand empty
  const double in = ceil(job.in_channels, kBlock) * kBlock, out = ceil(job.out_channels, 2 * kBlock) * 2 * kBlock;
  return numbers * (2 * in * out / of_peak + transform * (in + out));
}

}  // namespace amp
