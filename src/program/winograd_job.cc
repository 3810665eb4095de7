#include "program/winograd_job.h"

#include <algorithm>

namespace amp {
namespace {

bool AreBetween(const IntTuple& values, std::int64_t low, std::int64_t high) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v >= low && v <= high; });
}

// Of images: the kernel's two axes are the last ones.
bool HasKernel3x3(const StepTypes& types) {
  const Shape &source = types.inputs[0].shape, &weights = types.inputs[1].shape;
  const int rank = weights.rank();
  return source.rank() == 4 && rank >= 4 && weights[rank - 1] == 3 && weights[rank - 2] == 3;
}

// Groups of 16 and 32 channels at 14x14 and 7x7 took 1.2 to 1.5 times as long as direct convolutions on Zen 5: their
// matrices are too small.
bool HasLargeGroups(const kernels::Winograd& job) {
  constexpr std::int64_t kLeastChannels = 64;
  return job.groups == 1 || std::min(job.in_channels, job.out_channels) >= kLeastChannels;
}

template <class Spec>
bool HasWindowOfWinograd(const Spec& spec) {
  return AreAll(spec.strides, 1) && AreAll(spec.dilates, 0) && AreBetween(spec.pads_begin, 0, 2) &&
         AreBetween(spec.pads_end, 0, 2);
}

bool HasWindowOfWinograd(const StepSpec& spec) {
  const auto* window = std::get_if<ConvolutionSpec>(&spec);
  const auto* mirrored = std::get_if<DeconvolutionSpec>(&spec);
  return window != nullptr ? HasWindowOfWinograd(*window) : mirrored != nullptr && HasWindowOfWinograd(*mirrored);
}

}  // namespace

bool IsForWinograd(const Step& step, const StepTypes& types) {
  return HasWindowOfWinograd(step.spec) && HasKernel3x3(types) && HasKernelTypes(step, types) &&
         types.outputs[0].shape.size() > 0 && types.inputs[0].shape.size() > 0 &&
         HasLargeGroups(WinogradJob(step, types)) && FinishOf(step, types);
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

// Weights (O, I, 3, 3) or (G, O/G, I/G, 3, 3).
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
  job.kind = spec.winograd.value_or(kernels::WinogradKind::kF4x4);
  job.batch = source[0];
  job.groups = weights.rank() == 5 ? weights[0] : 1;
  job.in_channels = source[1] / job.groups;
  job.out_channels = out[1] / job.groups;
  job.in_height = source[2];
  job.in_width = source[3];
  job.out_height = out[2];
  job.out_width = out[3];
  job.pad_top = spec.pads_begin[0];
  job.pad_left = spec.pads_begin[1];
  return job;
}

// Kernels reach nine tenths of the arithmetic peak of float32, twice as much with int16. What one number of a
// transformed tile takes was measured on Zen 5 for float32, on Zen 4 for int16.
double WinogradFlops(const kernels::Winograd& job) {
  const bool is_int16 = kernels::WinogradMultipliesInt16(job.kind);
  const double of_peak = is_int16 ? 1.8 : 0.9;
  const double transform = is_int16 ? 44 : job.kind == kernels::WinogradKind::kF4x4 ? 38 : 32;
  const auto ceil = [](std::int64_t size, std::int64_t tile) { return static_cast<double>((size + tile - 1) / tile); };
  const double tiles = static_cast<double>(job.batch * job.groups) *
                       ceil(job.out_height, kernels::WinogradTileHeight(job.kind)) *
                       ceil(job.out_width, kernels::WinogradTileWidth(job.kind));
  const double numbers = tiles * static_cast<double>(kernels::WinogradProducts(job.kind));
  constexpr std::int64_t kBlock = kernels::kWinogradBlock;  // with fewer channels lanes stand empty
  const double in = ceil(job.in_channels, kBlock) * kBlock, out = ceil(job.out_channels, 2 * kBlock) * 2 * kBlock;
  return numbers * (2 * in * out / of_peak + transform * (in + out));
}

}  // namespace amp
