#include "program/step_graph.h"

#include <algorithm>
#include <utility>

namespace amp {

StepGraph::StepGraph(Program* program)
    : program_(program),
      readers_(program->values.size()),
      producer_(program->values.size()),
      is_output_(program->values.size()) {
  for (const ValueId v : program->outputs) is_output_[v] = true;
  for (Step& step : program->steps) {
    slots_.push_back({std::move(step), static_cast<double>(slots_.size()), true});
    Connect(slots_.size() - 1);
  }
  program->steps.clear();
}

StepGraph::~StepGraph() {
  std::erase_if(slots_, [](const Slot& slot) { return !slot.alive; });
  std::stable_sort(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) { return a.order < b.order; });
  for (Slot& slot : slots_) program_->steps.push_back(std::move(slot.step));
}

std::optional<StepId> StepGraph::OnlyReader(ValueId v) const {
  if (is_output_[v] || readers_[v].size() != 1) return std::nullopt;
  return readers_[v][0];
}

void StepGraph::Remove(StepId id) {
  Disconnect(id);
  slots_[id].alive = false;
}

void StepGraph::Replace(StepId id, Step step) {
  Disconnect(id);
  slots_[id].step = std::move(step);
  Connect(id);
}

StepId StepGraph::Add(double order, StepSpec spec, std::vector<ValueId> inputs, TensorType type, NodeId node,
                      const std::string& name) {
  const ValueId out = program_->AddValue(std::move(type), name, ValueSource::kComputed);
  if (const auto* cast = std::get_if<CastSpec>(&spec)) program_->MarkCast(*cast, inputs[0], out);
  readers_.emplace_back();
  producer_.emplace_back();
  is_output_.push_back(false);
  slots_.push_back({{std::move(spec), std::move(inputs), {out}, node, ""}, order, true});
  Connect(slots_.size() - 1);
  return slots_.size() - 1;
}

void StepGraph::Connect(StepId id) {
  for (const ValueId v : slots_[id].step.inputs) readers_[v].push_back(id);
  for (const ValueId v : slots_[id].step.outputs) producer_[v] = id;
}

void StepGraph::Disconnect(StepId id) {
  for (const ValueId v : slots_[id].step.inputs) {
    std::vector<StepId>& readers = readers_[v];
    readers.erase(std::find(readers.begin(), readers.end(), id));
  }
  for (const ValueId v : slots_[id].step.outputs) {
    if (producer_[v] == id) producer_[v].reset();
  }
}

void AddFused(const Step& taken, Step* step) {
  step->fused.push_back(taken.node);
  step->fused.insert(step->fused.end(), taken.fused.begin(), taken.fused.end());
}

void RemoveUnreadSteps(Program* program) {
  std::vector<bool> read(program->values.size());
  for (const ValueId v : program->outputs) read[v] = true;
  for (std::size_t i = program->steps.size(); i-- > 0;) {
    Step& step = program->steps[i];
    if (std::none_of(step.outputs.begin(), step.outputs.end(), [&](ValueId v) { return read[v]; })) {
      step.outputs.clear();
      continue;
    }
    for (const ValueId v : step.inputs) read[v] = true;
  }
  std::erase_if(program->steps, [](const Step& step) { return step.outputs.empty(); });
}

std::vector<bool> ReadValues(const Program& program) {
  std::vector<bool> read(program.values.size());
  for (const ValueId v : program.outputs) read[v] = true;
  for (const Step& step : program.steps) {
    for (const ValueId v : step.inputs) read[v] = true;
  }
  return read;
}

std::vector<bool> ValuesComputedOnce(const Program& program, bool for_all_shapes) {
  std::vector<bool> constant;
  for (const Value& value : program.values) constant.push_back(value.source == ValueSource::kConstant);
  for (const Step& step : program.steps) {
    const bool may_be = !for_all_shapes || (!step.inputs.empty() && !step.depends_on_input_shape);
    const bool is_constant =
        may_be && std::all_of(step.inputs.begin(), step.inputs.end(), [&](ValueId v) { return constant[v]; });
    for (const ValueId v : step.outputs) constant[v] = is_constant;
  }
  return constant;
}

}  // namespace amp
