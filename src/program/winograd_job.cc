#include "program/winograd_job.h"

#include <algorithm>

namespace amp {
namespace {

bool AreAll(const IntTuple& values, std::int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == value; });
}

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

}  // namespace

bool IsForWinograd(const Step& step, const StepTypes& types) {
  const auto* spec = std::get_if<ConvolutionSpec>(&step.spec);
  if (spec == nullptr || !HasKernel3x3(types)) return false;
  return AreAll(spec->strides, 1) && AreAll(spec->dilates, 0) && AreBetween(spec->pads_begin, 0, 2) &&
         AreBetween(spec->pads_end, 0, 2) && HasKernelTypes(step, types) && types.outputs[0].shape.size() > 0 &&
         types.inputs[0].shape.size() > 0 && HasLargeGroups(WinogradJob(*spec, types)) && FinishOf(step, types);
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

// Kernels reach nine tenths of the arithmetic peak. What one number of a transformed tile takes was measured on Zen 5.
double WinogradFlops(const kernels::Winograd& job) {
  constexpr double kOfPeak = 0.9;
  const double transform = job.kind == kernels::WinogradKind::kF4x4 ? 38 : 32;
  const auto ceil = [](std::int64_t size, std::int64_t tile) { return static_cast<double>((size + tile - 1) / tile); };
  const double tiles = static_cast<double>(job.batch * job.groups) *
                       ceil(job.out_height, kernels::WinogradTileHeight(job.kind)) *
                       ceil(job.out_width, kernels::WinogradTileWidth(job.kind));
  const double numbers = tiles * static_cast<double>(kernels::WinogradProducts(job.kind));
  constexpr std::int64_t kBlock = kernels::kWinogradBlock;  // with fewer channels lanes stand empty
  const double in = ceil(job.in_channels, kBlock) * kBlock, out = ceil(job.out_channels, 2 * kBlock) * 2 * kBlock;
  return numbers * (2 * in * out / kOfPeak + transform * (in + out));
}

}  // namespace amp
