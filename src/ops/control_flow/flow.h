// What nodes of control flow know of their subgraphs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "program/control_flow_body.h"

namespace amp {

// What a variable of a body reads: an input of the node, as it is or the part of the step.
struct Source {
  std::size_t slot = 0;
  bool sliced = false;
  // Parts of data of one axis have shape () instead of (1,), which MXNet gives them.
  bool has_scalar_parts = false;
};

struct BoundBody {
  std::string role;  // for messages
  std::shared_ptr<const ControlFlowBody> body;
  std::vector<Source> sources;  // by variable
};

// What a node does, whichever of the three operators it is: loops run the only body of `results` until the condition is
// false or the steps are used up; _cond runs the first for a true condition, else the second.
struct Flow {
  std::size_t num_inputs = 0;
  std::optional<BoundBody> condition;
  std::vector<BoundBody> results;
  std::optional<std::int64_t> max_steps;  // _foreach has as many as its sliced inputs
  std::size_t num_stacked = 0;            // the first outputs of a loop collect a part from each step
  std::vector<std::size_t> state_slots;   // the others replace these inputs from step to step
  // The last outputs that training added: the next random key, and what auxiliary states become. No results.
  std::size_t num_carried = 0;
  struct Moved {
    std::size_t slot, output;
  };
  std::vector<Moved> moved;  // the auxiliary states among them

  // The number of a loop's states whose last values are results.
  std::size_t num_shown_states() const { return state_slots.size() - num_carried; }
  bool IsState(std::size_t slot) const {
    return std::find(state_slots.begin(), state_slots.end(), slot) != state_slots.end();
  }
  bool IsMoved(std::size_t slot) const {
    return std::any_of(moved.begin(), moved.end(), [slot](const Moved& m) { return m.slot == slot; });
  }
};

struct FlowParam {
  std::int64_t num_args = 0;
  std::int64_t num_outputs = 0;
  std::int64_t num_out_data = 0;
  std::int64_t max_iterations = 0;
  std::int64_t num_carried = 0;
  IntTuple in_data_locs, in_state_locs, remain_locs, scalar_parts;
  IntTuple cond_input_locs, func_input_locs, func_var_locs, then_input_locs, else_input_locs, moved_locs;
  Flow flow;  // from the subgraphs
};

// Is the input an auxiliary state: one that the node moves, or that its bodies read and that stays the same?
bool IsAuxiliaryState(const Flow& flow, std::size_t slot);

// Fill in `flow` for the three operators, and check everything that the attributes say against the subgraphs. Throw
// GraphError for what does not fit.
void BindForeach(FlowParam& p, const Subgraphs& subgraphs);
void BindWhileLoop(FlowParam& p, const Subgraphs& subgraphs);
void BindCond(FlowParam& p, const Subgraphs& subgraphs);

}  // namespace amp
