#include "dnnl/build_steps.h"

namespace amp::onednn {
namespace {

std::size_t ScratchBytes(const CompiledStep& step, const std::optional<PreparedPrimitive>& prepared) {
  return prepared ? prepared->scratchpad.get_size() : step.kernel->ScratchBytes();
}

}  // namespace

std::shared_ptr<CompiledPlan> BuildSteps(LaidOutProgram* program) {
  auto plan = std::make_shared<CompiledPlan>();
  for (std::size_t i = 0; i < program->program.steps.size(); ++i) {
    const auto& prepared = program->prepared[i];
    CompiledStep step = BuildStep(program->program.steps[i], prepared, *program);
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
