#include "program/step_cost.h"

#include "program/layer_kernel.h"
#include "program/step.h"

namespace amp {
namespace {

double AxisSize(const TensorType& type, int axis) { return static_cast<double>(type.shape[axis]); }

std::size_t BytesOfAll(const std::vector<TensorType>& types) {
  std::size_t bytes = 0;
  for (const TensorType& type : types) bytes += static_cast<std::size_t>(type.shape.size()) * BytesOf(type.dtype);
  return bytes;
}

// Each element of `tensor` meets the weights of its channel.
double WindowFlops(const TensorType& tensor, const TensorType& weights) {
  const double elements = NumElements(tensor);
  return elements == 0 ? 0 : 2 * elements * NumElements(weights) / AxisSize(tensor, 1);
}

// Each element of the output is a sum over the last axis of the first operand.
double ProductFlops(const StepTypes& types) {
  const TensorType& first = types.inputs[0];
  return 2 * NumElements(types.outputs[0]) * AxisSize(first, first.shape.rank() - 1);
}

}  // namespace

double NumElements(const TensorType& type) { return static_cast<double>(type.shape.size()); }

DType PeakOf(DType multiplied) { return multiplied == DType::kInt16 ? DType::kFloat32 : multiplied; }

double ConvolutionSpec::Flops(const StepTypes& types) const { return WindowFlops(types.outputs[0], types.inputs[1]); }
double DeconvolutionSpec::Flops(const StepTypes& types) const { return WindowFlops(types.inputs[0], types.inputs[1]); }
double WeightGradientSpec::Flops(const StepTypes& types) const {
  return WindowFlops(types.inputs[1], types.outputs[0]);
}
double InnerProductSpec::Flops(const StepTypes& types) const { return ProductFlops(types); }
double MatMulSpec::Flops(const StepTypes& types) const { return ProductFlops(types); }

void PackWeightsSpec::Refine(const StepTypes&, StepCost* cost) const { cost->bytes_written = packed->bytes; }

// Both products: queries by keys, weights by values.
double AttentionSpec::Flops(const StepTypes& types) const {
  const TensorType& queries = types.inputs[0];
  if (interleaved) return 4.0 * NumElements(types.outputs[0]) * AxisSize(queries, 0);
  const TensorType& values = types.inputs[2];
  const int rank = queries.shape.rank();
  const double rows = NumElements(queries) == 0 ? 0 : NumElements(queries) / AxisSize(queries, rank - 1);
  return 2.0 * rows * AxisSize(values, rank - 2) * (AxisSize(queries, rank - 1) + AxisSize(values, rank - 1));
}

// Each step of each sequence meets all weights of all layers once.
double RecurrenceSpec::Flops(const StepTypes& types) const {
  const TensorType &data = types.inputs[0], &states = types.inputs[2];
  const double gates = cell == RecurrentCell::kLstm ? 4 : cell == RecurrentCell::kGru ? 3 : 1;
  const double directions = bidirectional ? 2 : 1, layers = AxisSize(states, 0) / directions,
               state = AxisSize(states, 2);
  const double read = AxisSize(data, 2) + (layers - 1) * directions * state;  // by all layers
  const double weights = directions * gates * state * (read + layers * state);
  return 2 * AxisSize(data, 0) * AxisSize(data, 1) * weights;
}

StepCost CostOf(const Step& step, const StepTypes& types) {
  const StepSpec& spec = step.spec;
  StepCost cost;
  if (!types.inputs.empty()) cost.dtype = types.inputs[0].dtype;
  if (KindOf(spec).is_view) return cost;
  if (step.layer() != nullptr) {
    cost.bytes_read = BytesOfAll(types.inputs);
    cost.bytes_written = BytesOfAll(types.outputs);
    step.layer()->Price(&cost);
    return cost;
  }
  cost.flops = std::visit(
      [&](const auto& of_kind) {
        if constexpr (requires { of_kind.Flops(types); }) return of_kind.Flops(types);
        return 0.0;
      },
      spec);
  const auto* kernel = std::get_if<KernelSpec>(&spec);
  const bool reads_parts = kernel != nullptr && kernel->bytes_read;
  cost.bytes_read = reads_parts ? *kernel->bytes_read : BytesOfAll(types.inputs);
  cost.bytes_written = BytesOfAll(types.outputs);
  std::visit(
      [&](const auto& of_kind) {
        if constexpr (requires { of_kind.Refine(types, &cost); }) of_kind.Refine(types, &cost);
      },
      spec);
  return cost;
}

}  // namespace amp
