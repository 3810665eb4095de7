#include "program/layer_kernels/fused_depthwise_problem.h"

#include <algorithm>
#include <tuple>

#include "program/epilogue.h"
#include "program/layer_kernels/gemm_problem.h"

namespace amp {
namespace {

constexpr int kRank = 4;  // of images

// Weights (C, 1, 1, kh, kw): one channel of one group each.
bool IsDepthwise(const Step& step, const StepTypes& types) {
  const auto* spec = std::get_if<ConvolutionSpec>(&step.spec);
  if (spec == nullptr || types.inputs[0].shape.rank() != kRank || types.inputs[1].shape.rank() != kRank + 1)
    return false;
  const Shape& weights = types.inputs[1].shape;
  const bool is_depthwise = weights[0] == types.inputs[0].shape[1] && weights[1] == 1 && weights[2] == 1;
  const bool strides = AreAll(spec->strides, 1) || AreAll(spec->strides, 2);
  return is_depthwise && strides && AreAll(spec->dilates, 0) && types.outputs[0].shape.size() > 0;
}

// What is computed in the middle of a block: its result is only clipped.
std::optional<kernels::Bounds> ClipsOnly(const Step& step, const StepTypes& types) {
  const auto epilogue = EpilogueOf(step, types);
  if (!epilogue || !epilogue->OnlyClips() || !HasKernelTypes(step, types)) return std::nullopt;
  return kernels::Bounds{epilogue->low, epilogue->high};
}

// A 1x1 convolution of all positions.
bool IsProduct(const Step& step, const StepTypes& types) {
  const auto* spec = std::get_if<ConvolutionSpec>(&step.spec);
  return spec != nullptr && IsForGemm(step.spec, types) && HasKernelTypes(step, types) && AreAll(spec->strides, 1);
}

// Source, weights and bias of a step.
std::vector<ValueId> OwnInputs(const Step& step) {
  return {step.inputs.begin(), step.inputs.begin() + (HasBias(step) ? 3 : 2)};
}

kernels::FusedDepthwise FusedDepthwiseProblem(const Step& depthwise, const StepTypes& depthwise_types,
                                              const StepTypes& project_types, DType dtype) {
  const auto& window = std::get<ConvolutionSpec>(depthwise.spec);
  const Shape &source = depthwise_types.inputs[0].shape, &weights = depthwise_types.inputs[1].shape;
  kernels::FusedDepthwise job;
  job.compute_type = ComputeTypeOf(dtype);
  job.batch = source[0];
  job.in_channels = source[1];
  std::tie(job.height, job.width) = LastTwo(source.dims());
  job.channels = weights[0];
  std::tie(job.kernel_height, job.kernel_width) = LastTwo(weights.dims());
  job.stride = window.strides[0];
  std::tie(job.pad_top, job.pad_left) = LastTwo(window.pads_begin);
  std::tie(job.out_height, job.out_width) = LastTwo(depthwise_types.outputs[0].shape.dims());
  job.out_channels = project_types.outputs[0].shape[1];
  return job;
}

}  // namespace

std::optional<FusedDepthwiseLayer> BlockOf(const Step& depthwise, const StepTypes& depthwise_types, const Step& project,
                                           const StepTypes& project_types, DType dtype) {
  if (!IsDepthwise(depthwise, depthwise_types) || !IsProduct(project, project_types)) return std::nullopt;
  const auto between = ClipsOnly(depthwise, depthwise_types);
  const auto epilogue = EpilogueOf(project, project_types);
  if (!between || !epilogue || epilogue->slopes || !epilogue->functions.empty()) return std::nullopt;
  FusedDepthwiseLayer block;
  block.job = FusedDepthwiseProblem(depthwise, depthwise_types, project_types, dtype);
  block.job.between = *between;
  block.job.result = {epilogue->low, epilogue->high};
  block.inputs = OwnInputs(depthwise);
  FusedDepthwisePlaces& places = block.places;
  if (HasBias(depthwise)) places.bias = 2;
  places.project_weights = block.inputs.size();
  block.inputs.push_back(project.inputs[1]);
  if (HasBias(project)) {
    places.project_bias = block.inputs.size();
    block.inputs.push_back(project.inputs[2]);
  }
  if (!epilogue->sum) return block;
  places.sum = block.inputs.size();
  block.inputs.push_back(project.inputs[*epilogue->sum]);
  return block;
}

std::optional<FusedDepthwiseLayer> ExpandingBlockOf(const Step& expand, const StepTypes& expand_types,
                                                    const FusedDepthwiseLayer& block) {
  if (!IsProduct(expand, expand_types)) return std::nullopt;
  const auto expanded = ClipsOnly(expand, expand_types);
  if (!expanded) return std::nullopt;
  FusedDepthwiseLayer expanding = block;
  expanding.job.expands = true;
  expanding.job.expanded = *expanded;
  expanding.job.in_channels = expand_types.inputs[0].shape[1];
  expanding.inputs = OwnInputs(expand);
  const std::size_t moved = expanding.inputs.size() - 1;
  expanding.inputs.insert(expanding.inputs.end(), block.inputs.begin() + 1, block.inputs.end());
  FusedDepthwisePlaces& places = expanding.places;
  for (std::size_t* place : {&places.weights, &places.project_weights}) *place += moved;
  for (std::optional<std::size_t>* place : {&places.bias, &places.project_bias, &places.sum}) {
    if (*place) **place += moved;
  }
  places.expand_weights = 1;
  if (HasBias(expand)) places.expand_bias = 2;
  return expanding;
}

// Products reach 0.94 of the arithmetic peak. A tap reads an operand from a cache; where strides are 2, from a farther
// one. Rows at the edges of strips are expanded twice. The factors were measured on a Xeon (Emerald Rapids).
double FusedDepthwiseFlops(const kernels::FusedDepthwise& job) {
  constexpr double kOfPeak = 0.94, kTapFactor = 1.75, kStridedTapFactor = 3, kNumberFlops = 14;
  const auto positions = static_cast<double>(job.batch * job.out_height * job.out_width);
  const double channels = InVectors(job.channels), out = InVectors(job.out_channels);
  const auto taps = static_cast<double>(job.kernel_height * job.kernel_width);
  const double of_float32 =
      job.compute_type == kernels::ComputeType::kBFloat16 ? 2 : 1;  // in the time of which there are as many products
  const double per_product = job.multiplies_int16() ? 1 : 2;
  double flops =
      positions * (per_product * static_cast<double>(job.channels) * out / kOfPeak + of_float32 * kNumberFlops * out);
  flops += of_float32 * positions * channels * 2 * taps * (job.stride == 1 ? kTapFactor : kStridedTapFactor);
  if (!job.expands) return flops;
  const auto rows = static_cast<double>(kernels::FusedDepthwiseStrip(job) * job.stride);
  const double again = 1 + static_cast<double>(std::max<std::int64_t>(0, job.kernel_height - job.stride)) / rows;
  const auto sources = static_cast<double>(job.batch * job.height * job.width) * again;
  const auto in = static_cast<double>(job.in_channels);
  return flops + sources * (per_product * in * channels / kOfPeak + of_float32 * kNumberFlops * (in + channels));
}

}  // namespace amp
