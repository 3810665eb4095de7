#include "program/image_job.h"

#include <algorithm>

#include "program/convolution_finish.h"

namespace amp {
namespace {

// With more channels the library's vectors over channels do not stand empty.
constexpr std::int64_t kMostChannels = 8;

kernels::WindowAxis AxisOf(const ConvolutionSpec& spec, const StepTypes& types, std::size_t axis) {
  const int place = static_cast<int>(axis) + 2;
  kernels::WindowAxis window;
  window.size = types.inputs[0].shape[place];
  window.out = types.outputs[0].shape[place];
  window.kernel = types.inputs[1].shape[place];
  window.stride = spec.strides[axis];
  window.step = spec.dilates[axis] + 1;
  window.pad = spec.pads_begin[axis];
  return window;
}

}  // namespace

bool IsForImageKernel(const Step& step, const StepTypes& types) {
  if (!std::holds_alternative<ConvolutionSpec>(step.spec)) return false;
  const Shape& source = types.inputs[0].shape;
  const bool is_image = (source.rank() == 4 || source.rank() == 5) && source[1] <= kMostChannels;
  const bool has_groups = types.inputs[1].shape.rank() != source.rank();
  if (!is_image || has_groups || source.size() == 0 || types.outputs[0].shape.size() == 0) return false;
  const auto finish = FinishOf(step, types);
  return finish && !finish->sum && HasKernelTypes(step, types);
}

kernels::ImageConvolution ImageJob(const Step& step, const StepTypes& types) {
  const auto& spec = std::get<ConvolutionSpec>(step.spec);
  const Shape& source = types.inputs[0].shape;
  kernels::ImageConvolution job;
  job.batch = source[0];
  job.channels = source[1];
  job.out_channels = types.outputs[0].shape[1];
  std::size_t axis = 0;
  if (source.rank() == 5) job.depth = AxisOf(spec, types, axis++);
  job.height = AxisOf(spec, types, axis++);
  job.width = AxisOf(spec, types, axis);
  job.x_is_bf16 = types.inputs[0].dtype == DType::kBFloat16;
  job.y_is_bf16 = types.outputs[0].dtype == DType::kBFloat16;
  const auto finish = FinishOf(step, types);
  job.low = finish->low;
  job.high = finish->high;
  return job;
}

}  // namespace amp
