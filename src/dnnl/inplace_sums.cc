#include "dnnl/inplace_sums.h"

#include <algorithm>
#include <utility>

namespace amp::onednn {
namespace {

// Whether the step at `position`, which reads the operand, may write its output over it.
bool MayOverwrite(LaidOutProgram* program, ValueId operand, const Step& step, std::size_t position,
                  const std::set<ValueId>& outputs, const std::vector<std::size_t>& last_use) {
  const ValueId output = step.outputs[0], root = program->RootOf(operand);
  const std::vector<ValueId>& inputs = program->program.inputs;
  const auto lies_there = [&](ValueId v) { return program->RootOf(v) == root; };
  return last_use[root] == position && !outputs.contains(root) && !program->IsConstant(operand) &&
         std::find(inputs.begin(), inputs.end(), root) == inputs.end() &&
         std::count_if(step.inputs.begin(), step.inputs.end(), lies_there) == 1 &&
         program->layouts[operand] == program->layouts[output] &&
         program->layouts[root].get_size() == program->layouts[output].get_size() && program->RootOf(output) == output;
}

}  // namespace

LaidOutProgram ShareSums(LaidOutProgram program) {
  std::vector<std::size_t> last_use = program.LastUses();
  const std::set<ValueId> outputs = program.RootsOfOutputs();
  std::vector<Step> steps = std::move(program.program.steps), all;
  std::vector<std::optional<PreparedPrimitive>> prepared;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step& step = steps[i];
    auto& primitive = program.prepared[i];
    if (primitive && primitive->sum_input) {
      ValueId& operand = step.inputs[*primitive->sum_input];
      const ValueId output = program.RootOf(step.outputs[0]);
      if (!MayOverwrite(&program, operand, step, i, outputs, last_use)) {
        const Desc layout = program.layouts[step.outputs[0]];
        const ValueId copy = program.AddValue(program.TypeOf(operand), "", layout);
        all.push_back({ReorderSpec{}, {operand}, {copy}, step.node, "a summand that is needed later"});
        all.back().is_backward = step.is_backward;
        prepared.push_back(PrepareReorder(program.layouts[operand], layout));
        operand = copy;
        last_use.resize(program.program.values.size(), i);
      }
      const ValueId summand = program.RootOf(operand);
      last_use[output] = std::max(last_use[output], last_use[summand]);
      program.storage[summand] = output;
    }
    all.push_back(std::move(step));
    prepared.push_back(std::move(primitive));
  }
  program.program.steps = std::move(all);
  program.prepared = std::move(prepared);
  return program;
}

}  // namespace amp::onednn
