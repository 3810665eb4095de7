#include "ops/control_flow/flow.h"

#include <algorithm>
#include <numeric>

namespace amp {
namespace {

std::vector<BoundBody> Bodies(const Subgraphs& subgraphs, const std::vector<std::string>& roles) {
  if (subgraphs.size() != roles.size()) {
    Throw<GraphError>("expected {} subgraphs ({}), got {}", roles.size(), JoinSome(roles), subgraphs.size());
  }
  std::vector<BoundBody> bodies;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    auto body = std::make_shared<const ControlFlowBody>(subgraphs[i]);
    const std::size_t num_inputs = body->input_names().size();
    bodies.push_back({roles[i], std::move(body), std::vector<Source>(num_inputs)});
  }
  return bodies;
}

void RequireEqual(const char* what, std::int64_t given, std::size_t actual, const std::string& of_what) {
  if (given != static_cast<std::int64_t>(actual)) {
    Throw<GraphError>("attribute {}: expected {}, {}, got {}", what, actual, of_what, given);
  }
}

// Throws unless the locations are different and below `limit`.
void CheckLocations(const char* name, const IntTuple& locs, std::size_t limit, std::vector<bool>* taken) {
  taken->resize(limit);
  for (const std::int64_t loc : locs) {
    if (loc < 0 || loc >= static_cast<std::int64_t>(limit)) {
      Throw<GraphError>("attribute {}: expected locations in [0, {}), got {}", name, limit, loc);
    }
    if ((*taken)[loc]) Throw<GraphError>("attribute {}: location {} is taken already", name, loc);
    (*taken)[loc] = true;
  }
}

void CheckOutputs(const FlowParam& p, const BoundBody& bound) {
  RequireEqual("num_outputs", p.num_outputs, bound.body->num_outputs(), "as many as the " + bound.role + " has");
}

void CheckLoop(const FlowParam& p, const BoundBody& bound, std::size_t num_states) {
  CheckOutputs(p, bound);
  const auto stacked = static_cast<std::int64_t>(bound.body->num_outputs()) - static_cast<std::int64_t>(num_states);
  if (stacked < 0) {
    Throw<GraphError>("the {} has {} outputs, but {} states are to be updated", bound.role, bound.body->num_outputs(),
                      num_states);
  }
  RequireEqual("num_out_data", p.num_out_data, static_cast<std::size_t>(stacked), "the outputs that are no states");
}

// Variable i of the body reads input locs[i] of the node.
void ReadInputs(const char* name, const IntTuple& locs, std::size_t num_inputs, BoundBody* bound) {
  RequireEqual(name, static_cast<std::int64_t>(locs.size()), bound->sources.size(),
               "a location for each variable of the " + bound->role);
  std::vector<bool> taken;
  CheckLocations(name, locs, num_inputs, &taken);
  for (std::size_t i = 0; i < locs.size(); ++i) bound->sources[i].slot = static_cast<std::size_t>(locs[i]);
}

std::size_t NumInputs(const FlowParam& p, std::size_t num_bodies) {
  return static_cast<std::size_t>(p.num_args) - num_bodies;
}

bool ReadsAsState(const BoundBody& bound, std::size_t slot) {
  for (std::size_t i = 0; i < bound.sources.size(); ++i) {
    if (bound.sources[i].slot == slot && !bound.sources[i].sliced && bound.body->IsState(i)) return true;
  }
  return false;
}

void SetLoopStates(const FlowParam& p, const BoundBody& body, std::vector<std::size_t> state_slots, Flow* flow) {
  if (p.num_carried > std::ssize(state_slots)) {
    Throw<GraphError>("attribute num_carried: expected at most {}, the number of states, got {}", state_slots.size(),
                      p.num_carried);
  }
  flow->num_stacked = static_cast<std::size_t>(p.num_out_data);
  flow->state_slots = std::move(state_slots);
  flow->num_carried = static_cast<std::size_t>(p.num_carried);
  for (std::size_t k = flow->num_shown_states(); k < flow->state_slots.size(); ++k) {
    const std::size_t slot = flow->state_slots[k];
    if (ReadsAsState(body, slot)) flow->moved.push_back({slot, flow->num_stacked + k});
  }
}

void RequireOneOutput(const BoundBody& bound) {
  if (bound.body->num_outputs() != 1) {
    Throw<GraphError>("expected a {} with one output, got {}", bound.role, bound.body->num_outputs());
  }
}

}  // namespace

bool IsAuxiliaryState(const Flow& flow, std::size_t slot) {
  if (flow.IsMoved(slot)) return true;
  if (flow.IsState(slot)) return false;
  if (flow.condition && ReadsAsState(*flow.condition, slot)) return true;
  return std::any_of(flow.results.begin(), flow.results.end(),
                     [slot](const BoundBody& bound) { return ReadsAsState(bound, slot); });
}

// The node's inputs are data, states and the rest, in this order; locations say which variable of the body each is.
void BindForeach(FlowParam& p, const Subgraphs& subgraphs) {
  Flow& flow = p.flow;
  flow.results = Bodies(subgraphs, {"body"});
  BoundBody& bound = flow.results[0];
  if (p.in_data_locs.empty()) throw GraphError("attribute in_data_locs: expected at least one location, got ()");
  std::vector<bool> taken;
  std::size_t slot = 0;
  const auto assign = [&](const char* name, const IntTuple& locs, bool sliced) {
    CheckLocations(name, locs, bound.sources.size(), &taken);
    for (const std::int64_t loc : locs) bound.sources[loc] = {slot++, sliced, false};
  };
  assign("in_data_locs", p.in_data_locs, true);
  std::vector<bool> is_scalar;
  CheckLocations("scalar_parts", p.scalar_parts, p.in_data_locs.size(), &is_scalar);
  for (const std::int64_t place : p.scalar_parts) bound.sources[p.in_data_locs[place]].has_scalar_parts = true;
  assign("in_state_locs", p.in_state_locs, false);
  assign("remain_locs", p.remain_locs, false);
  if (slot != bound.sources.size()) {
    Throw<GraphError>("expected a location for each of the body's {} variables ({}), got {} locations",
                      bound.sources.size(), JoinSome(bound.body->input_names()), slot);
  }
  flow.num_inputs = slot;
  RequireEqual("num_args", p.num_args, slot + 1, "one more than the inputs");
  CheckLoop(p, bound, p.in_state_locs.size());
  std::vector<std::size_t> state_slots(p.in_state_locs.size());
  std::iota(state_slots.begin(), state_slots.end(), p.in_data_locs.size());
  SetLoopStates(p, bound, std::move(state_slots), &flow);
}

void BindWhileLoop(FlowParam& p, const Subgraphs& subgraphs) {
  Flow& flow = p.flow;
  std::vector<BoundBody> bodies = Bodies(subgraphs, {"condition", "body"});
  flow.num_inputs = NumInputs(p, 2);
  RequireOneOutput(bodies[0]);
  ReadInputs("cond_input_locs", p.cond_input_locs, flow.num_inputs, &bodies[0]);
  ReadInputs("func_input_locs", p.func_input_locs, flow.num_inputs, &bodies[1]);
  std::vector<bool> taken;
  CheckLocations("func_var_locs", p.func_var_locs, p.func_input_locs.size(), &taken);
  std::vector<std::size_t> state_slots;
  for (const std::int64_t var : p.func_var_locs) state_slots.push_back(bodies[1].sources[var].slot);
  CheckLoop(p, bodies[1], state_slots.size());
  SetLoopStates(p, bodies[1], std::move(state_slots), &flow);
  flow.max_steps = p.max_iterations;
  flow.condition = std::move(bodies[0]);
  flow.results = {std::move(bodies[1])};
}

void BindCond(FlowParam& p, const Subgraphs& subgraphs) {
  Flow& flow = p.flow;
  std::vector<BoundBody> bodies = Bodies(subgraphs, {"condition", "then branch", "else branch"});
  flow.num_inputs = NumInputs(p, 3);
  RequireOneOutput(bodies[0]);
  ReadInputs("cond_input_locs", p.cond_input_locs, flow.num_inputs, &bodies[0]);
  ReadInputs("then_input_locs", p.then_input_locs, flow.num_inputs, &bodies[1]);
  ReadInputs("else_input_locs", p.else_input_locs, flow.num_inputs, &bodies[2]);
  CheckOutputs(p, bodies[1]);
  CheckOutputs(p, bodies[2]);
  std::vector<bool> taken;
  CheckLocations("moved_locs", p.moved_locs, flow.num_inputs, &taken);
  if (std::ssize(p.moved_locs) > p.num_outputs) {
    Throw<GraphError>("attribute moved_locs: expected at most {} locations, one for each output, got {}", p.num_outputs,
                      p.moved_locs.size());
  }
  flow.num_carried = p.moved_locs.size();
  for (const std::int64_t slot : p.moved_locs) {
    const std::size_t output = static_cast<std::size_t>(p.num_outputs) - flow.num_carried + flow.moved.size();
    flow.moved.push_back({static_cast<std::size_t>(slot), output});
  }
  flow.condition = std::move(bodies[0]);
  flow.results = {std::move(bodies[1]), std::move(bodies[2])};
}

}  // namespace amp
