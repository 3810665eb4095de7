#include "program/choose_kernels.h"

#include <algorithm>
#include <array>

#include "program/step_features.h"
#include "program/winograd_job.h"

namespace amp {
namespace {

using kernels::WinogradKind;

// Predictions err: a smaller gain may be a loss.
constexpr double kLeastGain = 0.92;

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

}  // namespace

void ChooseKernels(const MachineTable& machine, bool has_bf16, Program* program) {
  const std::vector<bool> constant = ConstantValues(*program);
  for (Step& step : program->steps) {
    const bool has_weights = std::holds_alternative<ConvolutionSpec>(step.spec) && constant[step.inputs[1]];
    if (!has_weights) continue;
    const StepTypes types = TypesOf(*program, step);
    if (IsForWinograd(step, types)) ChooseWinograd(machine, has_bf16, types, &step);
  }
}

}  // namespace amp
