#include "dnnl/compiled_plan.h"

#include "dnnl/step_kind.h"

namespace amp::onednn {

CompiledStep BuildStep(const Step& step, const std::optional<PreparedPrimitive>& prepared,
                       const LaidOutProgram& program) {
  CompiledStep compiled;
  compiled.inputs = step.inputs;
  compiled.outputs = step.outputs;
  compiled.node = step.node;
  if (!prepared) {
    compiled.kernel = BackEndOf(step).make_kernel(step, program);
    compiled.own_name = NameOfKernel(step);
    return compiled;
  }
  compiled.primitive = BuildPrimitive(*prepared);
  compiled.num_threads = prepared->num_threads;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (prepared->input_args[i] != kNoArgument) compiled.args.emplace_back(prepared->input_args[i], step.inputs[i]);
  }
  compiled.args.emplace_back(prepared->output_args[0], step.outputs[0]);
  return compiled;
}

std::vector<std::size_t> FirstBytes(const LaidOutProgram& program) {
  std::vector<std::size_t> bytes;
  for (ValueId v = 0; v < program.layouts.size(); ++v) {
    bytes.push_back(FirstByte(program.layouts[v], program.TypeOf(v).dtype));
  }
  return bytes;
}

}  // namespace amp::onednn
