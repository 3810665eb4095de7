#include "program/depthwise_block_job.h"

#include <algorithm>

#include "program/convolution_finish.h"
#include "program/pointwise_job.h"
#include "program/step_cost.h"
#include "program/step_graph.h"

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
std::optional<std::pair<float, float>> ClipsOnly(const Step& step, const StepTypes& types) {
  const auto finish = FinishOf(step, types);
  if (!finish || finish->sum || finish->bend || !HasKernelTypes(step, types)) return std::nullopt;
  return std::pair{finish->low, finish->high};
}

// A 1x1 convolution of all positions, as the library would compute it.
bool IsProduct(const Step& step, const StepTypes& types) {
  const auto* spec = std::get_if<ConvolutionSpec>(&step.spec);
  return spec != nullptr && IsForPointwise(step, types) && AreAll(spec->strides, 1) && !spec->source_bounds;
}

// In front of the step's own operands, which move back.
void InsertOperands(const Step& taken, Step* step) {
  std::vector<ValueId> operands{taken.inputs[0], taken.inputs[1]};
  if (HasBias(taken)) operands.push_back(taken.inputs[2]);
  step->inputs.erase(step->inputs.begin());
  step->inputs.insert(step->inputs.begin(), operands.begin(), operands.end());
  for (PostOp& op : step->post_ops) op.operand += operands.size() - 1;
}

}  // namespace

DepthwiseBlockPlaces PlacesOf(const DepthwiseBlockSpec& spec) {
  DepthwiseBlockPlaces places;
  std::size_t next = 1;
  const auto take = [&](bool is_there) { return is_there ? std::optional(next++) : std::nullopt; };
  places.expand_weights = take(spec.expands);
  places.expand_bias = take(spec.expands && spec.has_bias[0]);
  places.weights = next++;
  places.bias = take(spec.has_bias[1]);
  places.project_weights = next++;
  places.project_bias = take(spec.has_bias[2]);
  return places;
}

std::optional<Step> BlockOf(const Step& depthwise, const StepTypes& depthwise_types, const Step& project,
                            const StepTypes& project_types) {
  if (!IsDepthwise(depthwise, depthwise_types) || !IsProduct(project, project_types)) return std::nullopt;
  const auto between = ClipsOnly(depthwise, depthwise_types);
  const auto finish = FinishOf(project, project_types);
  if (!between || !finish || finish->bend) return std::nullopt;
  const auto& window = std::get<ConvolutionSpec>(depthwise.spec);
  DepthwiseBlockSpec spec;
  spec.has_bias = {false, HasBias(depthwise), HasBias(project)};
  spec.between = *between;
  spec.strides = window.strides;
  spec.pads_begin = window.pads_begin;
  spec.between_shape = depthwise_types.outputs[0].shape;
  Step step = project;
  step.spec = spec;
  InsertOperands(depthwise, &step);
  AddFused(depthwise, &step);
  return step;
}

std::optional<Step> ExpandingBlockOf(const Step& expand, const StepTypes& expand_types, const Step& block) {
  if (!IsProduct(expand, expand_types)) return std::nullopt;
  const auto expanded = ClipsOnly(expand, expand_types);
  if (!expanded) return std::nullopt;
  Step step = block;
  auto& spec = std::get<DepthwiseBlockSpec>(step.spec);
  spec.expands = true;
  spec.has_bias[0] = HasBias(expand);
  spec.expanded = *expanded;
  InsertOperands(expand, &step);
  AddFused(expand, &step);
  return step;
}

kernels::DepthwiseBlock DepthwiseBlockJob(const DepthwiseBlockSpec& spec, const StepTypes& types) {
  const DepthwiseBlockPlaces places = PlacesOf(spec);
  const Shape &source = types.inputs[0].shape, &weights = types.inputs[places.weights].shape;
  kernels::DepthwiseBlock job;
  job.multiplies = MultipliesOf(spec.multiplies);
  job.expands = spec.expands;
  job.batch = source[0];
  job.in_channels = source[1];
  job.height = source[2];
  job.width = source[3];
  job.channels = weights[0];
  job.kernel_height = weights[3];
  job.kernel_width = weights[4];
  job.stride = spec.strides[0];
  job.pad_top = spec.pads_begin[0];
  job.pad_left = spec.pads_begin[1];
  job.out_height = spec.between_shape[2];
  job.out_width = spec.between_shape[3];
  job.out_channels = types.outputs[0].shape[1];
  job.expanded = {spec.expanded.first, spec.expanded.second};
  job.between = {spec.between.first, spec.between.second};
  return job;
}

// Products reach 0.94 of the arithmetic peak. A tap reads an operand from a cache; where strides are 2, from a farther
// one. Rows at the edges of strips are expanded twice. The factors were measured on a Xeon (Emerald Rapids).
double DepthwiseBlockSpec::Flops(const StepTypes& types) const {
  constexpr double kOfPeak = 0.94, kTapFactor = 1.75, kStridedTapFactor = 3, kNumberFlops = 14;
  const kernels::DepthwiseBlock job = DepthwiseBlockJob(*this, types);
  const auto positions = static_cast<double>(job.batch * job.out_height * job.out_width);
  const double channels = InVectors(job.channels), out = InVectors(job.out_channels);
  const auto taps = static_cast<double>(job.kernel_height * job.kernel_width);
  const double of_float32 = multiplies == DType::kBFloat16 ? 2 : 1;  // in the time of which there are as many products
  const double per_product = multiplies == DType::kInt16 ? 1 : 2;
  double flops =
      positions * (per_product * static_cast<double>(job.channels) * out / kOfPeak + of_float32 * kNumberFlops * out);
  flops += of_float32 * positions * channels * 2 * taps * (job.stride == 1 ? kTapFactor : kStridedTapFactor);
  if (!job.expands) return flops;
  const auto rows = static_cast<double>(kernels::DepthwiseBlockStrip(job) * job.stride);
  const double again = 1 + static_cast<double>(std::max<std::int64_t>(0, job.kernel_height - job.stride)) / rows;
  const auto sources = static_cast<double>(job.batch * job.height * job.width) * again;
  const auto in = static_cast<double>(job.in_channels);
  return flops + sources * (per_product * in * channels / kOfPeak + of_float32 * kNumberFlops * (in + channels));
}

void DepthwiseBlockSpec::Refine(const StepTypes&, StepCost* cost) const { cost->dtype = PeakOf(multiplies); }

}  // namespace amp
