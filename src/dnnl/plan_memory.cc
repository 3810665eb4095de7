#include "dnnl/plan_memory.h"

#include <algorithm>
#include <map>
#include <utility>

#include "program/memory_plan.h"

namespace amp::onednn {
namespace {

class MemoryPlanner {
 public:
  MemoryPlanner(LaidOutProgram program, CompiledPlan* plan)
      : program_(std::move(program)),
        plan_(plan),
        outputs_(program_.RootsOfOutputs()),
        last_use_(program_.LastUses()) {}

  void Run() {
    plan_->locations.resize(program_.layouts.size());
    PlaceConstants();
    PlaceInputsAndOutputs();
    for (std::size_t i = 0; i < plan_->steps.size(); ++i) AddBuffers(i);
    const ArenaPlan arena = PlanArena(buffers_);
    plan_->arena_bytes = arena.bytes;
    for (const auto& [root, buffer] : buffer_of_) {
      plan_->locations[root] = {Place::kArena, arena.offsets[buffer], nullptr};
    }
    for (ValueId v = 0; v < plan_->locations.size(); ++v) {
      const ValueId root = program_.RootOf(v);
      if (root != v) plan_->locations[v] = plan_->locations[root];
    }
  }

 private:
  void PlaceConstants() {
    for (ValueId v = 0; v < program_.constants.size(); ++v) {
      if (program_.constants[v]) plan_->locations[v] = {Place::kConstant, 0, program_.constants[v]};
    }
  }

  void PlaceInputsAndOutputs() {
    const Program& program = program_.program;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      plan_->locations[program.inputs[i]] = {Place::kInput, i, nullptr};
    }
    for (std::size_t i = 0; i < program.outputs.size(); ++i) {
      plan_->locations[program_.RootOf(program.outputs[i])] = {Place::kOutput, i, nullptr};
    }
  }

  // For what step i writes.
  void AddBuffers(std::size_t i) {
    std::vector<ValueId> written = plan_->steps[i].outputs;
    if (plan_->steps[i].scratch) written.push_back(*plan_->steps[i].scratch);
    for (const ValueId v : written) {
      const ValueId root = program_.RootOf(v);
      if (outputs_.contains(root) || buffer_of_.contains(root)) continue;  // a caller's, or written in parts
      const std::size_t last = std::max(i, last_use_[root]);
      if (const auto reused = InPlaceOf(i, v)) {
        program_.storage[root] = *reused;  // everything that shares `root` now shares `*reused`
        last_use_[*reused] = last;
        buffers_[buffer_of_[*reused]].last = last;
        continue;
      }
      buffer_of_[root] = buffers_.size();
      buffers_.push_back({plan_->layouts[root].get_size(), i, last});
    }
  }

  // The storage whose bytes `output` of step i may overwrite: that of the step's first input, if the primitive can work
  // in place, no later step reads the input and it lies in the arena in the same layout.
  std::optional<ValueId> InPlaceOf(std::size_t i, ValueId output) {
    const Step& step = program_.program.steps[i];
    const auto& prepared = program_.prepared[i];
    if (!prepared || !prepared->can_run_in_place || output != step.outputs[0]) return std::nullopt;
    const ValueId input = step.inputs[0];
    const ValueId root = program_.RootOf(input);
    const auto lies_there = [&](ValueId v) { return program_.RootOf(v) == root; };
    const bool is_alone = std::count_if(step.inputs.begin(), step.inputs.end(), lies_there) == 1;
    const bool is_legal = is_alone && last_use_[root] == i && buffer_of_.contains(root) && !outputs_.contains(root) &&
                          plan_->layouts[input] == plan_->layouts[output] &&
                          plan_->layouts[root].get_size() == plan_->layouts[output].get_size();
    return is_legal ? std::optional(root) : std::nullopt;
  }

  LaidOutProgram program_;
  CompiledPlan* plan_;
  const std::set<ValueId> outputs_;    // their storage
  std::vector<std::size_t> last_use_;  // by storage
  std::vector<Buffer> buffers_;
  std::map<ValueId, std::size_t> buffer_of_;  // by storage
};

}  // namespace

void PlanMemory(LaidOutProgram program, CompiledPlan* plan) { MemoryPlanner(std::move(program), plan).Run(); }

}  // namespace amp::onednn
