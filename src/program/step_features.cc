#include "program/step_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "nnvm/dtype.h"
#include "program/layer_kernel.h"
#include "program/step.h"

namespace amp {
namespace {

double Axis(const TensorType& type, int axis) { return static_cast<double>(type.shape[axis]); }
double Last(const TensorType& type) {
  const int rank = type.shape.rank();
  return rank == 0 ? 1 : Axis(type, rank - 1);
}

// In the order of the enum.
constexpr std::array<const char*, 19> kEltwiseNames = {
    "relu", "linear", "clip",     "tanh",         "sigmoid",   "softplus", "log_sigmoid",
    "mish", "elu",    "gelu_erf", "gelu_tanh",    "abs",       "exp",      "log",
    "sqrt", "square", "swish",    "hard_sigmoid", "hard_swish"};
static_assert(kEltwiseNames.size() == static_cast<std::size_t>(EltwiseKind::kHardSwish) + 1);

// Whether the arithmetic of the function takes longer than reading and writing its element.
bool IsLong(EltwiseKind kind) {
  using enum EltwiseKind;
  constexpr EltwiseKind kShort[] = {kRelu, kLinear, kClip, kAbs, kSqrt, kSquare, kHardSigmoid, kHardSwish};
  return std::find(std::begin(kShort), std::end(kShort), kind) == std::end(kShort);
}

// Name of the law, and the point.
struct TimingModel {
  std::string name;
  std::vector<float> point;
};

TimingModel SizeModel(std::string name, const StepTypes& types) {
  double bytes = 0;
  for (const auto* side : {&types.inputs, &types.outputs}) {
    for (const TensorType& type : *side) bytes += NumElements(type) * static_cast<double>(BytesOf(type.dtype));
  }
  return {std::move(name), {Log2Of(bytes)}};
}

// Memory with channels last is read in rows of so many elements.
TimingModel RowsModel(std::string name, const StepTypes& types) {
  TimingModel law = SizeModel(std::move(name), types);
  const TensorType& source = types.inputs[0];
  law.point.push_back(source.shape.rank() > 1 ? Log2Of(Axis(source, 1)) : 0);
  return law;
}

// `tensor` is the side that each weight meets element by element: a convolution's output, a deconvolution's source.
TimingModel WindowModel(const std::string& name, const StepTypes& types, const TensorType& tensor,
                        const IntTuple& strides) {
  const TensorType &source = types.inputs[0], &weights = types.inputs[1], &out = types.outputs[0];
  const double in_channels = Axis(source, 1), out_channels = Axis(out, 1);
  const double per_channel = NumElements(weights) / out_channels;  // input channels of a group times the kernel's area
  double area = 1;
  for (int i = weights.shape.rank() - (source.shape.rank() - 2); i < weights.shape.rank(); ++i)
    area *= Axis(weights, i);
  const double group_channels = std::max(1.0, per_channel / area), groups = in_channels / group_channels;
  double stride = 1;
  for (const std::int64_t s : strides) stride *= static_cast<double>(s);
  std::string kind = area == 1 ? "_1x1" : "_kxk";
  if (groups > 1) kind = group_channels == 1 ? "_depthwise" : "_grouped";
  if (groups == 1 && in_channels < 8) kind = "_first";
  return {name + kind,
          {Log2Of(group_channels), Log2Of(out_channels / groups), Log2Of(groups),
           Log2Of(NumElements(tensor) / Axis(tensor, 1)), Log2Of(Last(tensor)), Log2Of(area), Log2Of(stride)}};
}

// Rows, columns, length of the sums, number of products.
TimingModel ProductModel(const char* name, const StepTypes& types, double rows, double length) {
  const double columns = Last(types.outputs[0]);
  return {name,
          {Log2Of(rows), Log2Of(columns), Log2Of(length), Log2Of(NumElements(types.outputs[0]) / rows / columns)}};
}

TimingModel TimingModelOf(const ConvolutionSpec& spec, const StepTypes& types) {
  return WindowModel("convolution", types, types.outputs[0], spec.strides);
}
TimingModel TimingModelOf(const DeconvolutionSpec& spec, const StepTypes& types) {
  return WindowModel("deconvolution", types, types.inputs[0], spec.strides);
}
TimingModel TimingModelOf(const InnerProductSpec&, const StepTypes& types) {
  return ProductModel("inner_product", types, Axis(types.inputs[0], 0), Last(types.inputs[0]));
}
TimingModel TimingModelOf(const MatMulSpec&, const StepTypes& types) {
  const int rank = types.outputs[0].shape.rank();
  return ProductModel("matmul", types, Axis(types.outputs[0], rank - 2), Last(types.inputs[0]));
}
TimingModel TimingModelOf(const AttentionSpec& spec, const StepTypes& types) {
  const TensorType &queries = types.inputs[0], &out = types.outputs[0];
  const double rows = Axis(queries, spec.interleaved ? 0 : 2);
  return {"attention", {Log2Of(rows), Log2Of(Last(queries)), Log2Of(NumElements(out) / rows / Last(out))}};
}
TimingModel TimingModelOf(const RecurrenceSpec&, const StepTypes& types) {
  const TensorType& data = types.inputs[0];
  return {"recurrence",
          {Log2Of(Axis(data, 0)), Log2Of(Axis(data, 1)), Log2Of(Last(data)), Log2Of(NumElements(types.inputs[1]))}};
}
TimingModel TimingModelOf(const PoolingSpec& spec, const StepTypes& types) {
  TimingModel law = SizeModel(spec.kind == PoolingKind::kMax ? "pooling_max" : "pooling_average", types);
  double area = 1;
  for (const std::int64_t size : spec.kernel) area *= static_cast<double>(size);
  law.point.push_back(Log2Of(area));
  law.point.push_back(Log2Of(NumElements(types.outputs[0])));
  return law;
}
TimingModel TimingModelOf(const EltwiseSpec& spec, const StepTypes& types) {
  return SizeModel(std::string("eltwise_") + NameOf(spec.kind), types);
}
TimingModel TimingModelOf(const SoftmaxSpec& spec, const StepTypes& types) {
  const int rank = types.inputs[0].shape.rank();
  TimingModel law = SizeModel(spec.axis == rank - 1 ? "softmax" : "softmax_across", types);
  law.point.push_back(Log2Of(Axis(types.inputs[0], spec.axis)));
  return law;
}
TimingModel TimingModelOf(const LayerNormSpec& spec, const StepTypes& types) {
  TimingModel law = SizeModel(spec.kKind.name, types);
  law.point.push_back(Log2Of(Last(types.inputs[0])));
  return law;
}
TimingModel TimingModelOf(const BinarySpec& spec, const StepTypes& types) {
  const bool broadcasts = types.inputs[0].shape != types.inputs[1].shape;
  return SizeModel(std::string(spec.kKind.name) + (broadcasts ? "_broadcast" : ""), types);
}
TimingModel TimingModelOf(const ScaleShiftSpec& spec, const StepTypes& types) {
  return RowsModel(spec.kKind.name, types);
}
TimingModel TimingModelOf(const ReorderSpec& spec, const StepTypes& types) { return RowsModel(spec.kKind.name, types); }
TimingModel TimingModelOf(const KernelSpec& spec, const StepTypes& types) {
  const auto bytes = static_cast<double>(CostOf({spec, {}, {}, 0, ""}, types).bytes());
  return {std::string(spec.kKind.name) + "_" + spec.name, {Log2Of(bytes)}};
}
template <class Spec>
TimingModel TimingModelOf(const Spec& spec, const StepTypes& types) {
  return SizeModel(spec.kKind.name, types);
}

// A key with the dtypes of the first operand and of the first result.
SampleKey KeyOf(std::string step, const StepTypes& types) {
  const DType in = types.inputs.empty() ? DType::kUnknown : types.inputs[0].dtype;
  return {std::move(step), in, types.outputs.empty() ? in : types.outputs[0].dtype};
}

SampleKey KeyOf(const Step& step, std::string name, const StepTypes& types) {
  SampleKey key = KeyOf(std::move(name), types);
  const auto* call = std::get_if<CallSpec>(&step.spec);
  if (call != nullptr) key.reference_call = call->op;
  return key;
}

}  // namespace

const char* NameOf(EltwiseKind kind) { return kEltwiseNames[static_cast<std::size_t>(kind)]; }

SampleKey FunctionKey(EltwiseKind kind) {
  return {std::string("eltwise_") + NameOf(kind), DType::kFloat32, DType::kFloat32};
}

float Log2Of(double size) { return static_cast<float>(std::log2(std::max(size, 1.0))); }

std::vector<float> WindowFeatures(const StepTypes& types, const TensorType& tensor, const IntTuple& strides) {
  return WindowModel("", types, tensor, strides).point;
}

std::vector<float> DenseFeatures(const StepTypes& types) { return TimingModelOf(InnerProductSpec{}, types).point; }

StepFeatures FeaturesOf(const Step& step, const StepTypes& types) {
  StepFeatures features;
  if (step.layer() != nullptr) {
    const LayerKernel& kernel = *step.choice->kernel;
    features.key = KeyOf(kernel.samples_name(), types);
    features.point = step.layer()->Features();
    if (kernel.fallback != nullptr) features.fallback = KeyOf(kernel.fallback, types);
  } else {
    TimingModel law = std::visit([&](const auto& spec) { return TimingModelOf(spec, types); }, step.spec);
    features.key = KeyOf(step, std::move(law.name), types);
    features.point = std::move(law.point);
    features.by_onednn = KindOf(step.spec).by_onednn;
  }
  features.cost = CostOf(step, types);
  for (const TensorType& type : types.outputs) features.elements_written += NumElements(type);
  for (const PostOp& post_op : step.post_ops) {
    const auto* function = std::get_if<EltwiseSpec>(&post_op.spec);
    if (function == nullptr || !IsLong(function->kind)) continue;
    features.post_functions.push_back(FunctionKey(function->kind));
  }
  return features;
}

}  // namespace amp
