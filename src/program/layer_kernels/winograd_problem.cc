#include "program/layer_kernels/winograd_problem.h"

#include <algorithm>
#include <utility>

#include "program/epilogue.h"

namespace amp {
namespace {

using kernels::WinogradKind;

// One for lines, two for images, three for volumes.
int DimensionsOf(const StepTypes& types) { return types.inputs[0].shape.rank() - 2; }
bool AreVolumes(const StepTypes& types) { return DimensionsOf(types) == 3; }

// A line is an image of one row: of the last two axes.
struct PlaneSize {
  std::int64_t height, width;
};
PlaneSize PlaneOf(const Shape& shape, int dimensions) {
  return {dimensions == 1 ? 1 : shape[shape.rank() - 2], shape[shape.rank() - 1]};
}
PlaneSize PadsOf(const IntTuple& pads) { return {pads.size() == 1 ? 0 : pads[pads.size() - 2], pads.back()}; }
PlaneSize PlaneOfWindow(const StepTypes& types) { return PlaneOf(types.inputs[1].shape, DimensionsOf(types)); }

bool IsColumn(const PlaneSize& window) { return window.width == 1 && window.height > 1; }

bool IsOf(WinogradKind kind, const PlaneSize& window) {
  const kernels::WinogradShape shape = kernels::WinogradShapeOf(kind);
  return window.height == shape.window_height && window.width == shape.window_width;
}

// Positions beyond these see nothing of the image. See kernels::Winograd for `dilation`.
bool IsWithin(const IntTuple& pads, const PlaneSize& window, std::int64_t dilation) {
  return pads[0] >= 0 && pads[0] < dilation * window.height && pads[1] >= 0 && pads[1] < dilation * window.width;
}

bool AreMultiples(const IntTuple& values, std::int64_t of) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v % of == 0; });
}

// The least size of the images that gaps leave.
constexpr std::int64_t kLeastSizeOfParts = 8;

// Without gaps, or images that gaps divide into images of one size. Those of 5x5 gained nothing: oneDNN skips what lies
// in the padding.
bool HasFittingDilation(const ConvolutionSpec& spec, const StepTypes& types, WinogradKind kind) {
  const std::int64_t dilation = spec.dilates[0] + 1;
  if (dilation == 1 && spec.dilates[1] == 0) return true;
  const Shape &source = types.inputs[0].shape, &result = types.outputs[0].shape;
  return spec.dilates[1] == spec.dilates[0] && !kernels::WinogradMultipliesBF16(kind) &&
         AreMultiples(spec.pads_begin, dilation) && AreMultiples(spec.pads_end, dilation) &&
         AreMultiples({source[2], source[3], result[2], result[3]}, dilation) &&
         std::min(result[2], result[3]) >= kLeastSizeOfParts * dilation;
}

// Groups of 16 and 32 channels at 14x14 and 7x7 took 1.2 to 1.5 times as long as direct convolutions on Zen 5: their
// matrices are too small.
bool HasLargeGroups(const kernels::Winograd& job) {
  constexpr std::int64_t kLeastChannels = 64;
  return job.groups == 1 || std::min(job.in_channels, job.out_channels) >= kLeastChannels;
}

bool IsForKind(WinogradKind kind, const ConvolutionSpec& spec, const StepTypes& types) {
  const std::int64_t dilation = spec.dilates[0] + 1;
  const PlaneSize window = PlaneOfWindow(types);
  PlaneSize seen = window;
  if (IsColumn(window)) std::swap(seen.height, seen.width);
  return IsOf(kind, seen) && AreAll(spec.strides, 1) && IsWithin(spec.pads_begin, window, dilation) &&
         IsWithin(spec.pads_end, window, dilation) && HasFittingDilation(spec, types, kind);
}

// The window of each of its convolutions.
PlaneSize WindowOfPhases(const StepTypes& types, std::int64_t stride) {
  const PlaneSize kernel = PlaneOfWindow(types);
  return {(kernel.height + stride - 1) / stride, (kernel.width + stride - 1) / stride};
}

bool IsForKind(WinogradKind kind, const DeconvolutionSpec& spec, const StepTypes& types) {
  const std::int64_t stride = spec.strides[0];
  const Shape& result = types.outputs[0].shape;
  const PlaneSize window = WindowOfPhases(types, stride);
  const auto sees_image = [&](std::int64_t pad, std::int64_t size) { return pad >= 0 && pad <= stride * (size - 1); };
  return IsOf(kind, window) && window.height > 1 && window.width > 1 && AreAll(spec.strides, stride) &&
         AreAll(spec.dilates, 0) && AreMultiples({result[result.rank() - 2], result[result.rank() - 1]}, stride) &&
         sees_image(spec.pads_begin[0], window.height) && sees_image(spec.pads_begin[1], window.width) &&
         (!kernels::WinogradMultipliesBF16(kind) || (stride == 1 && IsWithin(spec.pads_end, window, stride)));
}

// A line is an image of one row, and of as many rows as gaps divide it into.
template <class Spec>
bool IsForLines(WinogradKind kind, const Spec& spec, const StepTypes& types) {
  const std::int64_t gap = spec.dilates[0] + 1, begin = spec.pads_begin[0], end = spec.pads_end[0];
  const std::int64_t source = types.inputs[0].shape[2], result = types.outputs[0].shape[2];
  const Spec of_images{{1, spec.strides[0]}, {0, 0}, {0, begin / gap}, {0, end / gap}};
  return AreMultiples({source, result, begin, end}, gap) && (gap == 1 || result >= kLeastSizeOfParts * gap) &&
         IsForKind(kind, of_images, types);
}

// Without its first axis.
IntTuple OfSlices(const IntTuple& values) { return {values.begin() + 1, values.end()}; }

// In three dimensions: the channels of a slice fill blocks.
template <class Spec>
bool IsForVolumes(WinogradKind kind, const Spec& spec, const StepTypes& types) {
  const Shape& weights = types.inputs[1].shape;
  const std::int64_t slices = weights[weights.rank() - 3];
  const auto sees_volume = [&](std::int64_t pad) { return pad >= 0 && pad < slices; };
  const Spec of_slices{OfSlices(spec.strides), OfSlices(spec.dilates), OfSlices(spec.pads_begin),
                       OfSlices(spec.pads_end)};
  return spec.strides[0] == 1 && AreAll(spec.dilates, 0) && sees_volume(spec.pads_begin[0]) &&
         sees_volume(spec.pads_end[0]) && weights[weights.rank() - 4] % kernels::kWinogradBlock == 0 &&
         !kernels::WinogradMultipliesBF16(kind) && IsForKind(kind, of_slices, types);
}

template <class Spec>
bool IsForKindInAnyDimensions(WinogradKind kind, const Spec& spec, const StepTypes& types) {
  switch (DimensionsOf(types)) {
    case 1:
      return IsForLines(kind, spec, types);
    case 2:
      return IsForKind(kind, spec, types);
    case 3:
      return IsForVolumes(kind, spec, types);
    default:
      return false;
  }
}

bool IsForKind(WinogradKind kind, const StepSpec& spec, const StepTypes& types) {
  if (const auto* convolution = std::get_if<ConvolutionSpec>(&spec))
    return IsForKindInAnyDimensions(kind, *convolution, types);
  const auto* deconvolution = std::get_if<DeconvolutionSpec>(&spec);
  return deconvolution != nullptr && IsForKindInAnyDimensions(kind, *deconvolution, types);
}

// Without the pads and sizes of images.
template <class Spec>
kernels::Winograd ChannelsOf(const Spec& spec, const StepTypes& types, WinogradKind kind) {
  const Shape &source = types.inputs[0].shape, &weights = types.inputs[1].shape, &out = types.outputs[0].shape;
  kernels::Winograd job;
  job.kind = kind;
  job.batch = source[0];
  job.groups = weights.rank() > source.rank() ? weights[0] : 1;
  job.in_channels = source[1] / job.groups;
  job.out_channels = out[1] / job.groups;
  if (!AreVolumes(types)) return job;
  job.slices = weights[weights.rank() - 3];
  job.in_channels *= job.slices;
  job.in_depth = source[2];
  job.out_depth = out[2];
  job.pad_front = spec.pads_begin[0];
  job.batch *= job.out_depth;
  return job;
}

kernels::Winograd JobOf(const ConvolutionSpec& spec, const StepTypes& types, WinogradKind kind) {
  const int dimensions = DimensionsOf(types);
  const PlaneSize source = PlaneOf(types.inputs[0].shape, dimensions),
                  out = PlaneOf(types.outputs[0].shape, dimensions);
  const PlaneSize pads = PadsOf(spec.pads_begin);
  kernels::Winograd job = ChannelsOf(spec, types, kind);
  const std::int64_t gap = spec.dilates[0] + 1;
  job.in_height = dimensions == 1 ? gap : source.height / gap;
  job.in_width = source.width / gap;
  job.out_height = dimensions == 1 ? gap : out.height / gap;
  job.out_width = out.width / gap;
  job.pad_top = pads.height / gap;
  job.pad_left = pads.width / gap;
  job.dilation = dimensions == 1 ? 1 : gap;
  job.batch *= job.dilation * job.dilation;
  if (HasAxesExchanged(types)) {
    std::swap(job.in_height, job.in_width);
    std::swap(job.out_height, job.out_width);
    std::swap(job.pad_top, job.pad_left);
  }
  return job;
}

kernels::Winograd JobOf(const DeconvolutionSpec& spec, const StepTypes& types, WinogradKind kind) {
  const int dimensions = DimensionsOf(types);
  const PlaneSize source = PlaneOf(types.inputs[0].shape, dimensions),
                  out = PlaneOf(types.outputs[0].shape, dimensions);
  const PlaneSize kernel = PlaneOfWindow(types), pads = PadsOf(spec.pads_begin);
  kernels::Winograd job = ChannelsOf(spec, types, kind);
  job.stride = spec.strides.back();
  job.kernel_height = kernel.height;
  job.kernel_width = kernel.width;
  job.in_height = source.height;
  job.in_width = source.width;
  job.out_height = out.height / job.stride;
  job.out_width = out.width / job.stride;
  job.pad_top = pads.height;
  job.pad_left = pads.width;
  return job;
}

}  // namespace

bool HasAxesExchanged(const StepTypes& types) { return IsColumn(PlaneOfWindow(types)); }

bool IsForWinograd(const StepSpec& spec, const StepTypes& types, WinogradKind kind) {
  return IsForKind(kind, spec, types) && types.outputs[0].shape.size() > 0 && types.inputs[0].shape.size() > 0 &&
         HasLargeGroups(WinogradProblem(spec, types, kind));
}

kernels::Winograd WinogradProblem(const StepSpec& spec, const StepTypes& types, WinogradKind kind) {
  const auto* deconvolution = std::get_if<DeconvolutionSpec>(&spec);
  return deconvolution != nullptr ? JobOf(*deconvolution, types, kind)
                                  : JobOf(std::get<ConvolutionSpec>(spec), types, kind);
}

// Weights (O, I, [[depth,] height,] width) or (G, O/G, I/G, [[depth,] height,] width).
kernels::Winograd WinogradWeightsProblem(const StepSpec& spec, const Shape& weights, WinogradKind kind) {
  const auto* deconvolution = std::get_if<DeconvolutionSpec>(&spec);
  const IntTuple& strides = deconvolution != nullptr ? deconvolution->strides : std::get<ConvolutionSpec>(spec).strides;
  const int dimensions = static_cast<int>(strides.size()), first = weights.rank() - dimensions - 2;
  const PlaneSize kernel = PlaneOf(weights, dimensions);
  kernels::Winograd job;
  job.kind = kind;
  job.kernel_height = kernel.height;
  job.kernel_width = kernel.width;
  job.groups = first == 1 ? weights[0] : 1;
  job.slices = dimensions == 3 ? weights[first + 2] : 1;
  job.out_channels = weights[first];
  job.in_channels = weights[first + 1] * job.slices;
  if (deconvolution == nullptr) return job;
  const PlaneSize pads = PadsOf(deconvolution->pads_begin);
  job.stride = strides.back();
  job.pad_top = pads.height;
  job.pad_left = pads.width;
  return job;
}

// Kernels reach nine tenths of the arithmetic peak of float32, twice as much with int16. What one number of a
// transformed tile takes was measured on Zen 5 for float32, on Zen 4 for int16.
double WinogradFlops(const kernels::Winograd& job) {
  const bool is_int16 = kernels::WinogradMultipliesInt16(job.kind);
  const double of_peak = is_int16 ? 1.8 : 0.9;
  const double transform = is_int16 ? 44 : job.kind == WinogradKind::kF4x4 ? 38 : 32;
  const auto ceil = [](std::int64_t size, std::int64_t tile) { return static_cast<double>((size + tile - 1) / tile); };
  const std::int64_t phases = std::max<std::int64_t>(job.stride * job.stride, 1);
  const double tiles = static_cast<double>(phases * job.batch * job.groups) *
                       ceil(job.out_height, kernels::WinogradShapeOf(job.kind).tile_height) *
                       ceil(job.out_width, kernels::WinogradShapeOf(job.kind).tile_width);
  const double numbers = tiles * static_cast<double>(kernels::WinogradShapeOf(job.kind).products());
  constexpr std::int64_t kBlock = kernels::kWinogradBlock;  // with fewer channels lanes stand empty
  const double in = ceil(job.in_channels, kBlock) * kBlock, out = ceil(job.out_channels, 2 * kBlock) * 2 * kBlock;
  return numbers * (2 * in * out / of_peak + transform * (in + out));
}

}  // namespace amp
