// A program while it is being rewritten: its steps with who makes and who reads each value. Steps have an order of
// their own, so that new ones can stand between others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/step.h"

namespace amp {

using StepId = std::size_t;

class StepGraph {
 public:
  explicit StepGraph(Program* program);
  // Writes the steps that are left back into the program, in their order.
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  // Steps that are added later come after `size()` of now.
  std::size_t size() const { return slots_.size(); }
  bool alive(StepId id) const { return slots_[id].alive; }
  const Step& step(StepId id) const { return slots_[id].step; }
  double order(StepId id) const { return slots_[id].order; }

  const Value& value(ValueId v) const { return program_->values[v]; }
  const TensorType& type(ValueId v) const { return value(v).type; }
  void MarkExact(ValueId v) { program_->values[v].is_exact = true; }
  bool is_output(ValueId v) const { return is_output_[v]; }
  const std::vector<StepId>& readers(ValueId v) const { return readers_[v]; }  // a step that reads v twice, twice
  std::optional<StepId> producer(ValueId v) const { return producer_[v]; }
  // The one step that reads v, if v is no output and nothing else reads it.
  std::optional<StepId> OnlyReader(ValueId v) const;

  void Remove(StepId id);
  void Replace(StepId id, Step step);
  // A new step with a new output. Names of values are those of what they are derived from, with a suffix.
  StepId Add(double order, StepSpec spec, std::vector<ValueId> inputs, TensorType type, NodeId node,
             const std::string& name);

 private:
  struct Slot {
    Step step;
    double order = 0;
    bool alive = true;
  };
  void Connect(StepId id);
  void Disconnect(StepId id);

  Program* program_;
  std::vector<Slot> slots_;
  std::vector<std::vector<StepId>> readers_;
  std::vector<std::optional<StepId>> producer_;
  std::vector<bool> is_output_;
};

// Notes the nodes of `taken`, which `step` computes, too.
void AddFused(const Step& taken, Step* step);

// Drops the steps whose results no output of the program and no other step needs.
void RemoveUnreadSteps(Program* program);

// Says for each value whether some step or output of the program reads it.
std::vector<bool> ReadValues(const Program& program);
// Says for each value whether it is computed from parameters and shapes alone, and so once; `for_all_shapes`: from
// parameters alone, whatever the shapes of the inputs are.
std::vector<bool> ValuesComputedOnce(const Program& program, bool for_all_shapes = false);

}  // namespace amp
