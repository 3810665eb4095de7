#include "program/choose_kernels.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "program/pointwise_job.h"
#include "program/step_features.h"
#include "program/step_graph.h"
#include "program/winograd_job.h"

namespace amp {
namespace {

using kernels::WinogradKind;

// Predictions err: a smaller gain may be a loss.
constexpr double kLeastGain = 0.92;
// Of products with the same arithmetic as the library's. Tables say up to twice the time that small layers take in a
// network, because they measure layers by themselves; our law does not. With 0.7 Zen 5 lost 7 % of MobileNetV2 in
// bfloat16 at batch 1, with 0.5 3 %.
constexpr double kLeastProductGain = 0.3;

StepTypes TypesOf(const Program& program, const Step& step) {
  StepTypes types;
  for (const ValueId v : step.inputs) types.inputs.push_back(program.values[v].type);
  for (const ValueId v : step.outputs) types.outputs.push_back(program.values[v].type);
  return types;
}

// By value: whether it is computed once, whatever the shapes of the inputs are.
std::vector<bool> ConstantValues(const Program& program) {
  std::vector<bool> constant;
  for (const Value& value : program.values) constant.push_back(value.source == ValueSource::kConstant);
  for (const Step& step : program.steps) {
    const bool is_constant =
        !step.inputs.empty() && !step.depends_on_input_shape &&
        std::all_of(step.inputs.begin(), step.inputs.end(), [&](ValueId v) { return constant[v]; });
    for (const ValueId v : step.outputs) constant[v] = is_constant;
  }
  return constant;
}

// Kinds that keep a layer's error within what its dtypes allow.
bool IsAccurate(WinogradKind kind, const StepTypes& types) {
  if (!kernels::WinogradMultipliesBF16(kind)) return true;
  return kind == WinogradKind::kF2x2BF16 && types.inputs[0].dtype == DType::kBFloat16 &&
         types.inputs[1].dtype == DType::kBFloat16;
}

void ChooseWinograd(const MachineTable& machine, bool has_bf16, const StepTypes& types, Step* step) {
  auto& spec = std::get<ConvolutionSpec>(step->spec);
  double least = kLeastGain * machine.Seconds(FeaturesOf(*step, types));
  std::optional<WinogradKind> best;
  for (const WinogradKind kind : {WinogradKind::kF4x4, WinogradKind::kF2x2BF16, WinogradKind::kF4x2BF16}) {
    if (!IsAccurate(kind, types) || (kernels::WinogradMultipliesBF16(kind) && !has_bf16)) continue;
    spec.winograd = kind;
    const double seconds = machine.Seconds(FeaturesOf(*step, types));
    if (seconds >= least) continue;
    least = seconds;
    best = kind;
  }
  spec.winograd = best;
}

// The dtypes that a product may multiply, of those that the step reads.
std::vector<DType> ProductDTypes(bool has_bf16, const StepTypes& types) {
  const bool is_bf16 = types.inputs[0].dtype == DType::kBFloat16 && types.inputs[1].dtype == DType::kBFloat16;
  if (!is_bf16 || !has_bf16) return {DType::kFloat32};
  return {DType::kFloat32, DType::kBFloat16};
}

// The fastest matrix product that takes less than `least`, which becomes its time.
void ChoosePointwise(const MachineTable& machine, const std::vector<DType>& dtypes, const StepTypes& types,
                     double* least, Step* step) {
  auto& spec = std::get<ConvolutionSpec>(step->spec);
  std::optional<DType> best;
  for (const DType dtype : dtypes) {
    spec.pointwise = dtype;
    const double seconds = machine.Seconds(FeaturesOf(*step, types));
    if (seconds >= *least) continue;
    *least = seconds;
    best = dtype;
  }
  spec.pointwise = best;
}

class KernelChoice {
 public:
  KernelChoice(const MachineTable& machine, bool has_bf16, Program* program)
      : machine_(machine),
        has_bf16_(has_bf16),
        program_(*program),
        constant_(ConstantValues(*program)),
        graph_(program) {}

  void Run() {
    for (StepId id = 0; id < graph_.size(); ++id) {
      const Step& step = graph_.step(id);
      if (graph_.alive(id) && std::holds_alternative<ConvolutionSpec>(step.spec) && constant_[step.inputs[1]])
        Choose(id);
    }
  }

 private:
  void Choose(StepId id) {
    Step step = graph_.step(id);
    const StepTypes types = TypesOf(program_, step);
    if (IsForWinograd(step, types)) {
      ChooseWinograd(machine_, has_bf16_, types, &step);
      graph_.Replace(id, std::move(step));
    } else if (IsForPointwise(step, types)) {
      double least = kLeastProductGain * Seconds(step);
      ChoosePointwise(machine_, ProductDTypes(has_bf16_, types), types, &least, &step);
      graph_.Replace(id, std::move(step));
      TakeScale(id);
    }
  }

  double Seconds(const Step& step) const { return machine_.Seconds(FeaturesOf(step, TypesOf(program_, step))); }

  // The scale and shift that only the convolution reads, if it can do that itself in less time.
  void TakeScale(StepId id) {
    const Step& step = graph_.step(id);
    const auto producer = graph_.producer(step.inputs[0]);
    const auto* scale = producer ? std::get_if<ScaleShiftSpec>(&graph_.step(*producer).spec) : nullptr;
    const bool is_free = scale != nullptr && graph_.OnlyReader(step.inputs[0]) && !constant_[step.inputs[0]] &&
                         graph_.step(*producer).post_ops.empty();
    if (!is_free) return;
    const Step& before = graph_.step(*producer);
    Step fused = step;
    std::get<ConvolutionSpec>(fused.spec).source_bounds = {scale->low, scale->high};
    fused.inputs[0] = before.inputs[0];
    fused.inputs.insert(fused.inputs.end(), {before.inputs[1], before.inputs[2]});
    fused.fused.push_back(before.node);
    fused.fused.insert(fused.fused.end(), before.fused.begin(), before.fused.end());
    const StepTypes types = TypesOf(program_, fused);
    if (!IsForPointwise(fused, types)) return;
    const bool is_own = std::get<ConvolutionSpec>(step.spec).pointwise.has_value();  // times of one kernel compare well
    double least = (is_own ? 1 : kLeastGain) * (Seconds(step) + Seconds(before));
    ChoosePointwise(machine_, ProductDTypes(has_bf16_, TypesOf(program_, step)), types, &least, &fused);
    if (!std::get<ConvolutionSpec>(fused.spec).pointwise) return;
    graph_.Replace(id, std::move(fused));
    graph_.Remove(*producer);
  }

  const MachineTable& machine_;
  const bool has_bf16_;
  const Program& program_;
  const std::vector<bool> constant_;
  StepGraph graph_;
};

}  // namespace

void ChooseKernels(const MachineTable& machine, bool has_bf16, Program* program) {
  KernelChoice(machine, has_bf16, program).Run();
}

}  // namespace amp
