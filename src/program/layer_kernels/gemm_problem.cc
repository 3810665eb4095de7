#include "program/layer_kernels/gemm_problem.h"

#include <algorithm>
#include <tuple>

#include "kernels/gemm/strassen.h"
#include "program/epilogue.h"

namespace amp {
namespace {

// Without groups. Of images, or of lines and volumes that are read as they lie.
bool HasKernel1x1(const ConvolutionSpec& spec, const StepTypes& types) {
  const Shape &source = types.inputs[0].shape, &weights = types.inputs[1].shape;
  if (weights.rank() != source.rank() || weights.size() != weights[0] * weights[1]) return false;
  return source.rank() == 4 || ((source.rank() == 3 || source.rank() == 5) && AreAll(spec.strides, 1));
}

// A row or two read all weights, which then take the time; ours lie in rows of vectors, in either dtype no better.
bool HasRows(const StepTypes& types) {
  constexpr std::int64_t kLeastRows = 16;
  const TensorType& out = types.outputs[0];
  return out.shape.size() >= kLeastRows * out.shape[1];
}

// So that the product takes most of the time: times that tables say of small layers are too long, and of these alone is
// it known that ours is faster. Products of int16 are so by more.
bool IsLarge(const kernels::Gemm& job) {
  constexpr std::int64_t kLeastRows = 64, kLeastChannels = 256;
  if (job.multiplies_int16()) return job.rows() > 0 && std::min(job.in_channels, job.out_channels) > 0;
  return job.rows() >= kLeastRows && std::min(job.in_channels, job.out_channels) >= kLeastChannels;
}

}  // namespace

bool IsForGemm(const StepSpec& spec, const StepTypes& types) {
  const auto* convolution = std::get_if<ConvolutionSpec>(&spec);
  if (convolution == nullptr || !HasKernel1x1(*convolution, types)) return false;
  return AreAll(convolution->pads_begin, 0) && AreAll(convolution->pads_end, 0) && types.outputs[0].shape.size() > 0 &&
         types.inputs[0].shape.size() > 0 && HasRows(types);
}

bool IsForImplicitGemm(const StepSpec& spec, const StepTypes& types) {
  constexpr std::int64_t kLeastChannels = 8;  // few are gathered one by one
  if (!std::holds_alternative<ConvolutionSpec>(spec)) return false;
  const Shape &source = types.inputs[0].shape, &weights = types.inputs[1].shape;
  if (source.rank() != 4 || weights.rank() != 4 || source[1] < kLeastChannels) return false;
  return weights[2] * weights[3] > 1 && types.outputs[0].shape.size() > 0 && source.size() > 0 && HasRows(types);
}

bool IsForDense(const StepTypes& types, DType dtype) { return IsLarge(DenseProblem(types, dtype)); }

// Each element of an image is read once for all output channels, channel by channel. With more of these channels last,
// in blocks, is faster.
bool IsForImageConvolution(const StepSpec& spec, const StepTypes& types) {
  constexpr std::int64_t kMaxChannels = 7;
  const auto* convolution = std::get_if<ConvolutionSpec>(&spec);
  if (convolution == nullptr) return false;
  const Shape &source = types.inputs[0].shape, &weights = types.inputs[1].shape;
  if (source.rank() != 4 || weights.rank() != 4 || source[1] > kMaxChannels) return false;
  return AreAll(convolution->dilates, 0) && types.outputs[0].shape.size() > 0 && source.size() > 0;
}

kernels::ComputeType ComputeTypeOf(DType dtype) {
  if (dtype == DType::kInt16) return kernels::ComputeType::kInt16;
  return dtype == DType::kBFloat16 ? kernels::ComputeType::kBFloat16 : kernels::ComputeType::kFloat32;
}

namespace {

kernels::GemmWindow ConvolutionWindowOf(const ConvolutionSpec& spec, const Shape& source, const Shape& weights) {
  kernels::GemmWindow window;
  window.channels = weights[1];
  std::tie(window.height, window.width) = LastTwo(weights.dims());
  std::tie(window.image_height, window.image_width) = LastTwo(source.dims());
  std::tie(window.stride_y, window.stride_x) = LastTwo(spec.strides);
  std::tie(window.pad_top, window.pad_left) = LastTwo(spec.pads_begin);
  window.step_y = spec.dilates[0] + 1;
  window.step_x = spec.dilates[1] + 1;
  return window;
}

}  // namespace

kernels::Gemm GemmProblem(const ConvolutionSpec& spec, const StepTypes& types, DType dtype) {
  const Shape &source = types.inputs[0].shape, &out = types.outputs[0].shape;
  kernels::Gemm job{.compute_type = ComputeTypeOf(dtype), .in_channels = source[1], .out_channels = out[1]};
  job.batch = out[0];
  job.width = out[out.rank() - 1];
  for (int axis = 2; axis + 1 < out.rank(); ++axis) job.height *= out[axis];
  const Shape& weights = types.inputs[1].shape;
  if (weights.size() == weights[0] * weights[1]) return job;
  job.window = ConvolutionWindowOf(spec, source, weights);
  job.in_channels = job.window.taps() * job.window.channels;
  return job;
}

kernels::ImageConvolution WithPool(const kernels::ImageConvolution& job, const PoolingSpec& pool, const Shape& shape) {
  kernels::ImageConvolution pooled = job;
  kernels::ImagePool& of = pooled.pool;
  std::tie(of.kernel_height, of.kernel_width) = LastTwo(pool.kernel);
  std::tie(of.stride_y, of.stride_x) = LastTwo(pool.strides);
  std::tie(of.pad_top, of.pad_left) = LastTwo(pool.pads_begin);
  std::tie(of.height, of.width) = LastTwo(shape.dims());
  return pooled;
}

kernels::ImageConvolution ImageConvolutionProblem(const ConvolutionSpec& spec, const StepTypes& types, DType dtype) {
  const Shape &source = types.inputs[0].shape, &weights = types.inputs[1].shape;
  kernels::ImageConvolution job;
  job.product = GemmProblem(spec, types, dtype);
  job.product.window = {};
  job.product.source.is_bf16 = types.inputs[0].dtype == DType::kBFloat16;
  job.channels = source[1];
  std::tie(job.height, job.width) = LastTwo(source.dims());
  std::tie(job.kernel_height, job.kernel_width) = LastTwo(weights.dims());
  std::tie(job.stride_y, job.stride_x) = LastTwo(spec.strides);
  std::tie(job.pad_top, job.pad_left) = LastTwo(spec.pads_begin);
  job.product.in_channels = kernels::ImageConvolutionDepth(job);
  return job;
}

kernels::Gemm DenseProblem(const StepTypes& types, DType dtype) {
  const Shape &source = types.inputs[0].shape, &out = types.outputs[0].shape;
  return {.compute_type = ComputeTypeOf(dtype), .width = source[0], .in_channels = source[1], .out_channels = out[1]};
}

bool IsForStrassen(const kernels::Gemm& job) {
  constexpr std::int64_t kLeastRows = 128, kLeastChannels = 256;
  return job.window.channels == 0 && job.rows() >= kLeastRows &&
         std::min(job.in_channels, job.out_channels) >= kLeastChannels;
}

double InVectors(std::int64_t channels) {
  constexpr std::int64_t kVector = 16;
  return static_cast<double>((channels + kVector - 1) / kVector * kVector);
}

namespace {

// The multiplications of its products, with what rounds sizes up.
double MultiplicationsOf(const kernels::Gemm& job) {
  if (job.strassen) {
    const kernels::Gemm half = kernels::StrassenHalf(job);
    return 1.0 * kernels::kStrassenProducts * half.rows() * half.in_channels * half.out_channels;
  }
  return 1.0 * job.rows() * job.in_channels * InVectors(job.out_channels);
}

}  // namespace

// Kernels reach 0.96 of the arithmetic peak where sums are long. A row is packed in vectors, and results are finished
// in vectors. What one number takes was measured on Zen 5. Pairs of int16 take the time of one number in float32.
// Strassen's algorithm takes a row into 7 products and a result from 12 of 4.
double GemmFlops(const kernels::Gemm& job, bool scales) {
  constexpr double kOfPeak = 0.96, kEpilogueFlops = 14;
  const double pack_flops = (scales || job.multiplies_int16() ? 24 : 16) * (job.strassen ? 2 : 1);
  const double finish_flops = job.strassen ? 3 * kEpilogueFlops : kEpilogueFlops;
  const double factor = job.multiplies_bf16() ? 2 : 1;  // in the time of which there are twice as many
  const double product_flops = job.multiplies_int16() ? 1 : 2;
  const auto rows = static_cast<double>(job.rows()), in = static_cast<double>(job.in_channels);
  const double out = InVectors(job.out_channels);
  return product_flops * MultiplicationsOf(job) / kOfPeak + rows * factor * (pack_flops * in + finish_flops * out);
}

// Kernels reach 0.85 of the arithmetic peak, because each element of a window is read by itself. What one number takes
// was measured on an Emerald Rapids. There each one that a pool meets takes half of what is said here, so that pooling
// has to gain where it was not measured.
double ImageConvolutionFlops(const kernels::ImageConvolution& job) {
  constexpr double kOfPeak = 0.85, kEpilogueFlops = 20, kPooledFlops = 8;
  const double factor = job.product.multiplies_bf16() ? 2 : 1;  // in the time of which there are twice as many
  const auto windows = static_cast<double>(job.product.rows()), taps = static_cast<double>(job.product.in_channels);
  const double out = InVectors(job.product.out_channels);
  const auto pooled = static_cast<double>(job.product.batch * job.pool.height * job.pool.width *
                                          job.pool.kernel_height * job.pool.kernel_width);
  return windows * out * (2 * taps / kOfPeak + factor * kEpilogueFlops) + pooled * out * factor * kPooledFlops;
}

}  // namespace amp
