#include "ops/control_flow/flow_gradient.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nnvm/attr_text.h"
#include "nnvm/error.h"
#include "ops/control_flow/flow.h"
#include "passes/gradient/add_gradients.h"

namespace amp {
namespace {

NodeEntry BodyNode(const std::string& op, const std::string& name, std::vector<NodeEntry> inputs, AttrMap attrs = {},
                   Subgraphs subgraphs = {}) {
  return {Node::Make({&OpRegistry::Get().Require(kMXNetDomain, op),
                      name,
                      std::move(attrs),
                      std::move(inputs),
                      {},
                      Phase::kBackward,
                      std::move(subgraphs)})};
}

// A body of the node, to which variables and operators are added.
class GrowingBody {
 public:
  GrowingBody(const Node& node, const BoundBody& bound)
      : node_(node), bound_(bound), outputs_(bound.body->symbol().outputs()) {
    const Graph graph(outputs_);
    for (const NodePtr& each : graph.nodes()) {
      names_.insert(each->name());
      if (each->is_variable()) variables_[each->name()] = {each};
    }
  }

  std::size_t num_variables() const { return bound_.sources.size(); }
  const Source& SourceOf(std::size_t variable) const { return bound_.sources[variable]; }
  NodeEntry Variable(std::size_t variable) const { return variables_.at(bound_.body->input_names()[variable]); }
  // The variable that reads an input of the node.
  std::optional<NodeEntry> Reader(std::size_t slot) const {
    for (std::size_t i = 0; i < num_variables(); ++i) {
      if (SourceOf(i).slot == slot) return Variable(i);
    }
    return std::nullopt;
  }
  const std::vector<NodeEntry>& outputs() const { return outputs_; }

  NodeEntry NewVariable(const std::string& stem) { return {Node::Variable(NewName(stem))}; }
  NodeEntry Add(const std::string& op, std::vector<NodeEntry> inputs, AttrMap attrs = {}, Subgraphs subgraphs = {}) {
    return BodyNode(op, NewName(op), std::move(inputs), std::move(attrs), std::move(subgraphs));
  }

  // For each variable the gradient of sum(output * its gradient) over the outputs that have one.
  std::vector<std::optional<NodeEntry>> Gradients(const std::vector<std::optional<NodeEntry>>& of_outputs) const {
    std::vector<NodeEntry> outputs;
    std::vector<std::optional<NodeEntry>> given;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (!of_outputs[i]) continue;
      outputs.push_back(outputs_[i]);
      given.push_back(of_outputs[i]);
    }
    std::vector<std::optional<NodeEntry>> found(num_variables());
    if (outputs.empty()) return found;
    const Graph graph(outputs);
    std::vector<NodeId> asked;
    std::vector<std::size_t> variables;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Node* variable = Variable(i).node.get();
      if (!graph.Contains(variable)) continue;
      asked.push_back(graph.IdOf(variable));
      variables.push_back(i);
    }
    const auto gradients = Differentiate(graph, given, asked);
    for (std::size_t i = 0; i < variables.size(); ++i) found[variables[i]] = gradients[i];
    return found;
  }

 private:
  std::string NewName(const std::string& stem) {
    std::string name = stem;
    for (int i = 0; !names_.insert(name).second; ++i) name = fmt::format("{}{}", stem, i);
    return name;
  }

  std::vector<std::optional<NodeEntry>> Differentiate(const Graph& graph,
                                                      const std::vector<std::optional<NodeEntry>>& given,
                                                      const std::vector<NodeId>& asked) const {
    try {
      return AddGradients(graph, given, asked);
    } catch (const UnsupportedError& error) {
      throw UnsupportedError(fmt::format("{}: in its {}: {}", node_.Describe(), bound_.role, error.what()));
    }
  }

  const Node& node_;
  const BoundBody& bound_;
  std::vector<NodeEntry> outputs_;
  std::map<std::string, NodeEntry> variables_;
  std::set<std::string> names_;
};

// For each variable of a body, in graph order: its place among those that are given.
IntTuple PlacesOf(const std::vector<NodeEntry>& outputs, const std::vector<NodeEntry>& given) {
  const Graph body(outputs);
  IntTuple places;
  for (const NodeId id : body.variables()) {
    places.push_back(std::find(given.begin(), given.end(), NodeEntry{body.nodes()[id]}) - given.begin());
  }
  return places;
}

// The inputs that some body reads. `read` says by attribute which of all each body does, and is written to the
// attributes. An auxiliary state that none reads as such may not be an input.
template <class T>
std::vector<T> InputsRead(const std::vector<T>& all, const std::map<std::string, IntTuple>& read, AttrMap* attrs) {
  std::vector<T> inputs;
  std::map<std::int64_t, std::int64_t> places;
  for (const auto& [name, locs] : read) {
    IntTuple found;
    for (const std::int64_t loc : locs) {
      const auto [place, is_new] = places.emplace(loc, std::ssize(inputs));
      if (is_new) inputs.push_back(all[static_cast<std::size_t>(loc)]);
      found.push_back(place->second);
    }
    (*attrs)[name] = PrintAttr(found);
  }
  (*attrs)["num_args"] = std::to_string(inputs.size() + read.size());
  return inputs;
}

// ---- loops over what is given ----

// Variables of a body, and what they read of the graph around.
struct Bindings {
  std::vector<NodeEntry> variables;
  std::vector<Term> terms;
  std::vector<bool> has_scalar_parts;  // see Source

  void Add(const NodeEntry& variable, const Term& term, bool scalar_parts = true) {
    variables.push_back(variable);
    terms.push_back(term);
    has_scalar_parts.push_back(scalar_parts);
  }
};

// What a body gives from step to step, and what its variables are. Each state is in the place of the one that it
// becomes.
struct Loop {
  std::vector<NodeEntry> stacked, new_states;
  Bindings data, states, rest;

  std::vector<NodeEntry> Outputs() const {
    std::vector<NodeEntry> outputs = stacked;
    outputs.insert(outputs.end(), new_states.begin(), new_states.end());
    return outputs;
  }
};

bool ReadsAny(const Graph& body, const std::vector<NodeEntry>& variables) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const NodeEntry& variable) { return body.Contains(variable.node.get()); });
}

// The positions in the body of the variables that it has; their terms become inputs.
IntTuple Locate(const Graph& body, const Bindings& bindings, std::vector<Term>* inputs) {
  IntTuple locations;
  const std::vector<NodeId>& variables = body.variables();
  for (std::size_t i = 0; i < bindings.variables.size(); ++i) {
    const Node* variable = bindings.variables[i].node.get();
    if (!body.Contains(variable)) continue;
    locations.push_back(std::find(variables.begin(), variables.end(), body.IdOf(variable)) - variables.begin());
    inputs->push_back(bindings.terms[i]);
  }
  return locations;
}

// The places, among the data that the body has, of those with scalar parts.
IntTuple ScalarParts(const Graph& body, const Bindings& data) {
  IntTuple places;
  std::int64_t place = 0;
  for (std::size_t i = 0; i < data.variables.size(); ++i) {
    if (!body.Contains(data.variables[i].node.get())) continue;
    if (data.has_scalar_parts[i]) places.push_back(place);
    ++place;
  }
  return places;
}

// Adds a _foreach. Its outputs: what is stacked, then the last states.
std::vector<Term> CallForeach(GradientContext& c, GrowingBody* body, Loop loop) {
  // A body reads all states and something of the data, whatever it computes.
  for (std::size_t i = 0; i < loop.new_states.size(); ++i) {
    loop.new_states[i] = body->Add("_identity_with_attr_like_rhs", {loop.new_states[i], loop.states.variables[i]});
  }
  const bool reads_data = ReadsAny(Graph(loop.Outputs()), loop.data.variables);
  if (!reads_data) loop.stacked.push_back(body->Add("size_array", {loop.data.variables[0]}));
  const Graph graph(loop.Outputs());
  std::vector<Term> inputs;
  AttrMap attrs{{"in_data_locs", PrintAttr(Locate(graph, loop.data, &inputs))}};
  attrs["scalar_parts"] = PrintAttr(ScalarParts(graph, loop.data));
  attrs["in_state_locs"] = PrintAttr(Locate(graph, loop.states, &inputs));
  attrs["remain_locs"] = PrintAttr(Locate(graph, loop.rest, &inputs));
  attrs["num_args"] = std::to_string(inputs.size() + 1);
  attrs["num_outputs"] = std::to_string(graph.outputs().size());
  attrs["num_out_data"] = std::to_string(loop.stacked.size());
  std::vector<Term> results = c.CallAll("_foreach", inputs, std::move(attrs), {graph.outputs()});
  if (!reads_data) results.erase(results.begin() + std::ssize(loop.stacked) - 1);
  return results;
}

Term Reversed(const Term& stacked) { return stacked.context().Call("reverse", {stacked}, {{"axis", "(0,)"}}); }

// ---- the gradients of loops ----

// What the steps of a loop began with.
struct SavedSteps {
  std::vector<std::optional<Term>> states;  // by state, stacked; none for auxiliary ones: training reads none
  std::optional<Term> ran;                  // 1 for each step that there was, 0 for the others; none: there were all
};

// The loop that computes the gradients, step by step from the last one.
class BackwardLoop {
 public:
  BackwardLoop(GradientContext& c, const Flow& flow) : c_(c), flow_(flow), body_(c.node(), flow.results[0]) {}

  void Run(const SavedSteps& saved) {
    BindForward(saved.states);
    BindGradients();
    MakeResults();
    if (saved.ran) ChooseWhatRan(*saved.ran);
    if (!loop_.Outputs().empty()) Set();
  }

 private:
  // Which state reads an input of the node.
  std::optional<std::size_t> StateOf(std::size_t slot) const {
    const auto k = std::find(flow_.state_slots.begin(), flow_.state_slots.end(), slot);
    if (k == flow_.state_slots.end()) return std::nullopt;
    return static_cast<std::size_t>(k - flow_.state_slots.begin());
  }

  void BindForward(const std::vector<std::optional<Term>>& saved) {
    for (std::size_t i = 0; i < body_.num_variables(); ++i) {
      const Source& source = body_.SourceOf(i);
      const Term input = c_.in(static_cast<int>(source.slot));
      const auto state = StateOf(source.slot);
      if (source.sliced) {
        loop_.data.Add(body_.Variable(i), Reversed(input), source.has_scalar_parts);
      } else if (state && saved[*state]) {
        loop_.data.Add(body_.Variable(i), Reversed(*saved[*state]));
      } else {
        loop_.rest.Add(body_.Variable(i), input);
      }
    }
  }

  // The gradients of what each step gives. Those of states come from the step behind it. What is carried has none.
  void BindGradients() {
    of_outputs_.resize(body_.outputs().size());
    for (std::size_t i = 0; i < flow_.num_stacked + flow_.num_shown_states(); ++i) {
      const int output = static_cast<int>(i);
      const bool is_state = i >= flow_.num_stacked;
      if (!is_state && !c_.has_gradient(output)) continue;
      of_outputs_[i] = body_.NewVariable(is_state ? "state_gradient" : "gradient");
      if (is_state) {
        loop_.states.Add(*of_outputs_[i], c_.gradient(output));
      } else {
        loop_.data.Add(*of_outputs_[i], Reversed(c_.gradient(output)));
      }
    }
  }

  // Gradients of parts are collected; those of states go on; those of all else are added up.
  void MakeResults() {
    const auto gradients = body_.Gradients(of_outputs_);
    for (const NodeEntry& state_gradient : loop_.states.variables) {
      loop_.new_states.push_back(body_.Add("zeros_like", {state_gradient}));
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Source& source = body_.SourceOf(i);
      if (!gradients[i]) continue;
      if (const auto state = StateOf(source.slot)) {
        if (*state < flow_.num_shown_states()) loop_.new_states[*state] = *gradients[i];
      } else if (c_.is_asked(static_cast<int>(source.slot))) {
        source.sliced ? Collect(source.slot, *gradients[i]) : AddUp(source.slot, *gradients[i]);
      }
    }
  }

  void Collect(std::size_t slot, const NodeEntry& gradient) {
    loop_.stacked.push_back(body_.Add("_copy", {gradient}));
    collected_.push_back(slot);
  }

  void AddUp(std::size_t slot, const NodeEntry& gradient) {
    const NodeEntry sum = body_.NewVariable("sum");
    loop_.states.Add(sum, Unary("zeros_like", c_.in(static_cast<int>(slot))));
    loop_.new_states.push_back(body_.Add("elemwise_add", {sum, gradient}));
    added_.push_back(slot);
  }

  // Steps that there were not leave all states as they are. Such loops have no parts of data.
  void ChooseWhatRan(const Term& ran) {
    if (loop_.new_states.empty()) return;
    const NodeEntry flag = body_.NewVariable("ran");
    loop_.data.Add(flag, Reversed(ran));
    std::vector<NodeEntry> left;
    for (const NodeEntry& state : loop_.states.variables) left.push_back(body_.Add("_copy", {state}));
    const std::vector<NodeEntry> condition{body_.Add("_copy", {flag})};
    std::vector<NodeEntry> inputs;
    for (const Bindings* bindings : {&loop_.data, &loop_.states, &loop_.rest}) {
      inputs.insert(inputs.end(), bindings->variables.begin(), bindings->variables.end());
    }
    AttrMap attrs{{"num_outputs", std::to_string(left.size())}};
    inputs = InputsRead(inputs,
                        {{"cond_input_locs", PlacesOf(condition, inputs)},
                         {"then_input_locs", PlacesOf(loop_.new_states, inputs)},
                         {"else_input_locs", PlacesOf(left, inputs)}},
                        &attrs);
    const NodeEntry chosen =
        body_.Add("_cond", std::move(inputs), std::move(attrs), {condition, loop_.new_states, left});
    loop_.new_states = AllOutputs(chosen.node);
  }

  void Set() {
    const std::vector<Term> results = CallForeach(c_, &body_, loop_);
    std::size_t next = 0;
    for (const std::size_t slot : collected_) SetCollected(static_cast<int>(slot), Reversed(results[next++]));
    for (std::size_t k = 0; k < flow_.num_shown_states(); ++k) {
      c_.Set(static_cast<int>(flow_.state_slots[k]), results[next++]);
    }
    for (const std::size_t slot : added_) c_.Set(static_cast<int>(slot), results[next++]);
  }

  // Parts of shape (1,) may be those of data of one axis.
  void SetCollected(int slot, const Term& gradient) { c_.Set(slot, c_.Call("reshape_like", {gradient, c_.in(slot)})); }

  GradientContext& c_;
  const Flow& flow_;
  GrowingBody body_;
  Loop loop_;
  std::vector<std::optional<NodeEntry>> of_outputs_;  // variables of the body
  std::vector<std::size_t> collected_, added_;        // slots whose gradients are stacked, and added up
};

// The states of a body that differ from step to step, but for auxiliary ones: what steps begin and end with.
struct LoopStates {
  std::vector<NodeEntry> first, last;
  std::vector<std::size_t> slots, places;  // places among all states
};

LoopStates StatesOf(const Flow& flow, GrowingBody* body) {
  LoopStates states;
  for (std::size_t k = 0; k < flow.state_slots.size(); ++k) {
    if (flow.IsMoved(flow.state_slots[k])) continue;
    states.places.push_back(k);
    states.slots.push_back(flow.state_slots[k]);
    states.first.push_back(*body->Reader(flow.state_slots[k]));
    states.last.push_back(body->outputs()[flow.num_stacked + k]);
  }
  return states;
}

std::vector<std::optional<Term>> ByState(const Flow& flow, const LoopStates& states, const std::vector<Term>& stacked) {
  std::vector<std::optional<Term>> saved(flow.state_slots.size());
  for (std::size_t i = 0; i < states.places.size(); ++i) saved[states.places[i]] = stacked[i];
  return saved;
}

// Runs the loop again for the states between its steps.
SavedSteps SaveForeach(GradientContext& c, const Flow& flow) {
  GrowingBody body(c.node(), flow.results[0]);
  const LoopStates states = StatesOf(flow, &body);
  if (states.slots.empty()) return {ByState(flow, states, {}), std::nullopt};
  Loop loop;
  loop.new_states = states.last;
  for (const NodeEntry& state : states.first) loop.stacked.push_back(body.Add("_copy", {state}));
  for (std::size_t k = 0; k < states.slots.size(); ++k) {
    loop.states.Add(states.first[k], c.in(static_cast<int>(states.slots[k])));
  }
  for (std::size_t i = 0; i < body.num_variables(); ++i) {
    const Source& source = body.SourceOf(i);
    const bool is_state = std::find(states.slots.begin(), states.slots.end(), source.slot) != states.slots.end();
    const Term input = c.in(static_cast<int>(source.slot));
    if (!is_state) (source.sliced ? loop.data : loop.rest).Add(body.Variable(i), input, source.has_scalar_parts);
  }
  return {ByState(flow, states, CallForeach(c, &body, loop)), std::nullopt};
}

// Saves what SaveForeach does, and which steps there were.
SavedSteps SaveWhileLoop(GradientContext& c, const Flow& flow) {
  GrowingBody body(c.node(), flow.results[0]);
  const LoopStates states = StatesOf(flow, &body);
  std::vector<NodeEntry> outputs;
  for (const NodeEntry& state : states.first) outputs.push_back(body.Add("_copy", {state}));
  outputs.push_back(body.Add("_ones", {}, {{"shape", "(1,)"}}));
  outputs.insert(outputs.end(), states.last.begin(), states.last.end());
  std::vector<NodeEntry> by_slot(flow.num_inputs);
  for (std::size_t slot = 0; slot < by_slot.size(); ++slot) by_slot[slot] = body.Reader(slot).value_or(NodeEntry{});
  const IntTuple read = PlacesOf(outputs, by_slot);
  IntTuple variables;
  for (const std::size_t slot : states.slots) {
    variables.push_back(std::find(read.begin(), read.end(), static_cast<std::int64_t>(slot)) - read.begin());
  }
  AttrMap attrs = c.attrs();
  attrs.erase("num_carried");
  attrs["num_outputs"] = std::to_string(outputs.size());
  attrs["num_out_data"] = std::to_string(states.first.size() + 1);
  attrs["func_var_locs"] = PrintAttr(variables);
  std::vector<Term> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
  inputs = InputsRead(inputs, {{"cond_input_locs", c.params<FlowParam>().cond_input_locs}, {"func_input_locs", read}},
                      &attrs);
  const std::vector<Term> saved = c.CallAll("_while_loop", inputs, attrs, {c.node().subgraphs()[0], outputs});
  return {ByState(flow, states, saved), saved[states.first.size()]};
}

}  // namespace

void ForeachGradient(GradientContext& c) {
  const Flow& flow = c.params<FlowParam>().flow;
  BackwardLoop(c, flow).Run(SaveForeach(c, flow));
}

void WhileLoopGradient(GradientContext& c) {
  const Flow& flow = c.params<FlowParam>().flow;
  BackwardLoop(c, flow).Run(SaveWhileLoop(c, flow));
}

// Whichever branch ran computes the gradients, too; an input that it does not read has zeros.
void CondGradient(GradientContext& c) {
  const Flow& flow = c.params<FlowParam>().flow;
  std::vector<Term> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
  std::vector<int> given;  // outputs with a gradient
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (!c.has_gradient(i)) continue;
    given.push_back(i);
    inputs.push_back(c.gradient(i));
  }
  std::vector<int> asked;
  for (int slot = 0; slot < c.num_inputs(); ++slot) {
    if (c.is_asked(slot)) asked.push_back(slot);
  }
  Subgraphs subgraphs{c.node().subgraphs()[0]};
  std::map<std::string, IntTuple> read{{"cond_input_locs", c.params<FlowParam>().cond_input_locs}};
  for (const std::size_t branch : {0, 1}) {
    GrowingBody body(c.node(), flow.results[branch]);
    std::vector<NodeEntry> variables;  // by input of the new node
    for (std::size_t slot = 0; slot < flow.num_inputs; ++slot) {
      const auto reader = body.Reader(slot);
      variables.push_back(reader ? *reader : body.NewVariable("other"));
    }
    std::vector<std::optional<NodeEntry>> of_outputs(body.outputs().size());
    for (const int i : given) {
      variables.push_back(body.NewVariable("gradient"));
      of_outputs[static_cast<std::size_t>(i)] = variables.back();
    }
    const auto found = body.Gradients(of_outputs);
    std::vector<NodeEntry> results;
    for (const int slot : asked) results.push_back(body.Add("zeros_like", {variables[static_cast<std::size_t>(slot)]}));
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto place = std::find(asked.begin(), asked.end(), static_cast<int>(body.SourceOf(i).slot));
      if (found[i] && place != asked.end())
        results[static_cast<std::size_t>(place - asked.begin())] = body.Add("_copy", {*found[i]});
    }
    read[branch == 0 ? "then_input_locs" : "else_input_locs"] = PlacesOf(results, variables);
    subgraphs.push_back(results);
  }
  AttrMap attrs = c.attrs();
  attrs.erase("moved_locs");
  inputs = InputsRead(inputs, read, &attrs);
  attrs["num_outputs"] = std::to_string(asked.size());
  const std::vector<Term> results = c.CallAll("_cond", inputs, attrs, subgraphs);
  for (std::size_t i = 0; i < asked.size(); ++i) c.Set(asked[i], results[i]);
}

}  // namespace amp
