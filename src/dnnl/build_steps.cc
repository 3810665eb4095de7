#include "dnnl/build_steps.h"

#include "dnnl/product_nodes.h"
#include "program/machine_table.h"
#include "program/step_features.h"

namespace amp::onednn {
namespace {

std::size_t ScratchBytes(const CompiledStep& step, const std::optional<PreparedPrimitive>& prepared) {
  return prepared ? prepared->scratchpad.get_size() : step.kernel->ScratchBytes();
}

// In float32 the operands are cast; scaling reads and writes them and the result once more.
bool PrefersScaled(const Step& step, const LaidOutProgram& program, const MachineTable* machine) {
  if (machine == nullptr) return true;
  StepTypes wide = program.TypesOf(step);
  double bytes = 0;
  for (std::vector<TensorType>* types : {&wide.inputs, &wide.outputs}) {
    for (TensorType& type : *types) {
      type.dtype = DType::kFloat32;
      bytes += static_cast<double>(type.shape.size()) * 4;
    }
  }
  const double native = machine->Seconds(amp::FeaturesOf(step, program.TypesOf(step)));
  return native < machine->Seconds(amp::FeaturesOf(step, wide)) + machine->TrafficSeconds(bytes);
}

// What products of bfloat16 run where that is too inexact, or are compared with.
void AddAlternate(const Step& source, const LaidOutProgram& program, const std::optional<PreparedPrimitive>& prepared,
                  const BuildOptions& options, CompiledStep* step) {
  if (!prepared || step->implementation != Implementation::kNative) return;
  const bool may_differ = source.alternate && *source.alternate != AlternateMode::kF32;
  if (may_differ) {
    const bool prefers_scaled = PrefersScaled(source, program, options.machine);
    step->alternate = std::make_shared<const AlternateProduct>(source, *prepared, program, prefers_scaled);
  } else if (options.count_denormals && AlternateProduct::IsPossible(source, *prepared, program.TypesOf(source).inputs,
                                                                     program.TypesOf(source).outputs[0])) {
    step->compared = std::make_shared<const AlternateProduct>(source, *prepared, program, false);
  }
}

}  // namespace

std::shared_ptr<CompiledPlan> BuildSteps(LaidOutProgram* program, const BuildOptions& options) {
  auto plan = std::make_shared<CompiledPlan>();
  for (std::size_t i = 0; i < program->program.steps.size(); ++i) {
    const auto& prepared = program->prepared[i];
    const Step& source = program->program.steps[i];
    CompiledStep step = BuildStep(source, prepared, *program);
    step.implementation = ImplementationOf(source, program->TypesOf(source));
    AddAlternate(source, *program, prepared, options, &step);
    const std::size_t bytes = ScratchBytes(step, prepared);
    if (bytes != 0) {
      const TensorType type{DType::kUInt8, Shape{static_cast<std::int64_t>(bytes)}};
      step.scratch = program->AddValue(type, "", PlainDesc(type));
      if (prepared) step.args.emplace_back(DNNL_ARG_SCRATCHPAD, *step.scratch);
    }
    plan->steps.push_back(std::move(step));
    if (!program->program.steps[i].is_backward) plan->num_forward_steps = i + 1;
  }
  plan->layouts = program->layouts;
  plan->first_bytes = FirstBytes(*program);
  return plan;
}

}  // namespace amp::onednn
