#include "program/split_phases.h"

#include <algorithm>
#include <vector>

namespace amp {

void PutForwardFirst(std::size_t num_outputs, Program* program) {
  std::vector<bool> is_needed(program->values.size());
  for (std::size_t i = 0; i < num_outputs; ++i) is_needed[program->outputs[i]] = true;
  for (auto step = program->steps.rbegin(); step != program->steps.rend(); ++step) {
    step->is_backward =
        std::none_of(step->outputs.begin(), step->outputs.end(), [&](ValueId v) { return is_needed[v]; });
    if (step->is_backward) continue;
    for (const ValueId v : step->inputs) is_needed[v] = true;
  }
  std::stable_partition(program->steps.begin(), program->steps.end(),
                        [](const Step& step) { return !step.is_backward; });
}

}  // namespace amp
