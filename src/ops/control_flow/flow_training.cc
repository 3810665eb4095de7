#include "ops/control_flow/flow_training.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "nnvm/attr_text.h"
#include "nnvm/error.h"
#include "ops/control_flow/flow.h"
#include "passes/gradient/use_training_forms.h"

namespace amp {
namespace {

// A node with other bodies, on its way. Slots are inputs of the node that is made: those of the node itself, and then
// the random key, where some body reads one.
class FormedFlow {
 public:
  FormedFlow(const Node& node, std::vector<NodeEntry> inputs, std::vector<FormedBody> bodies,
             const std::function<NodeEntry()>& random_key)
      : node_(node), flow_(node.params<FlowParam>().flow), inputs_(std::move(inputs)), attrs_(node.attrs()) {
    std::size_t next = 0;
    if (flow_.condition) AddBody(*flow_.condition, std::move(bodies[next++]));
    for (const BoundBody& bound : flow_.results) AddBody(bound, std::move(bodies[next++]));
    attrs_.erase("num_carried");
    if (reads_key_) {
      key_slot_ = inputs_.size();
      inputs_.push_back(random_key());
      for (Body& body : bodies_) body.slots.try_emplace(kRandomKey, *key_slot_);
    }
  }

  NodePtr Finish() {
    if (flow_.results.size() == 2) {
      MakeBranches();
    } else {
      MakeLoop();
      node_.IsOp("_foreach") ? LocateForeach() : LocateWhileLoop();
    }
    Subgraphs subgraphs;
    for (const Body& body : bodies_) subgraphs.push_back(body.outputs);
    attrs_["num_args"] = std::to_string(inputs_.size() + subgraphs.size());
    attrs_["num_outputs"] = std::to_string(bodies_.back().outputs.size());
    return Node::Make({node_.op(), node_.name(), std::move(attrs_), std::move(inputs_), node_.control_deps(),
                       node_.phase(), std::move(subgraphs)});
  }

 private:
  struct Body {
    const BoundBody* bound;
    std::vector<NodeEntry> outputs;
    std::map<std::string, std::size_t> slots;  // by variable
    std::map<std::size_t, NodeEntry> moved;    // by slot: what an auxiliary state becomes
  };

  NodeEntry Add(const char* op, std::string name, const NodeEntry& input) const {
    return {
        Node::Make({&OpRegistry::Get().Require(kMXNetDomain, op), std::move(name), {}, {input}, {}, node_.phase()})};
  }

  bool IsSteppedState(const Source& source) const { return source.sliced || flow_.IsState(source.slot); }

  void AddBody(const BoundBody& bound, FormedBody formed) {
    Body body{&bound, std::move(formed.outputs), {}, {}};
    const std::vector<std::string>& names = bound.body->input_names();
    for (std::size_t i = 0; i < names.size(); ++i) body.slots[names[i]] = bound.sources[i].slot;
    for (const auto& [name, value] : formed.updates) {
      const auto place = std::find(names.begin(), names.end(), name) - names.begin();
      const Source& source = bound.sources[static_cast<std::size_t>(place)];
      if (IsSteppedState(source) || (flow_.condition && &bound == &*flow_.condition)) {
        Throw<UnsupportedError>("{}: the {} would move its auxiliary state '{}', which a loop cannot do",
                                node_.Describe(), bound.role, Quotable(name));
      }
      body.moved[source.slot] = value;
      moved_slots_.insert(source.slot);
    }
    const Graph graph(body.outputs);
    reads_key_ = reads_key_ || (!body.slots.contains(kRandomKey) && Find(graph, kRandomKey));
    bodies_.push_back(std::move(body));
  }

  static std::optional<NodeEntry> Find(const Graph& graph, const std::string& variable) {
    for (const NodeId id : graph.variables()) {
      if (graph.node(id).name() == variable) return NodeEntry{graph.nodes()[id]};
    }
    return std::nullopt;
  }

  // ---- branches ----

  // A state that one branch moves stays as it is in the other.
  void MakeBranches() {
    for (const std::size_t slot : moved_slots_) {
      for (std::size_t i = 1; i < bodies_.size(); ++i) bodies_[i].outputs.push_back(Moved(&bodies_[i], slot));
    }
    attrs_["cond_input_locs"] = PrintAttr(SlotsOf(bodies_[0]));
    attrs_["then_input_locs"] = PrintAttr(SlotsOf(bodies_[1]));
    attrs_["else_input_locs"] = PrintAttr(SlotsOf(bodies_[2]));
    if (!moved_slots_.empty()) attrs_["moved_locs"] = PrintAttr(IntTuple(moved_slots_.begin(), moved_slots_.end()));
  }

  NodeEntry Moved(Body* body, std::size_t slot) const {
    if (const auto found = body->moved.find(slot); found != body->moved.end()) return found->second;
    const NodeEntry state = VariableOf(body, slot);
    return Add("_copy", state.node->name() + "_kept", state);
  }

  // That of the body which reads the slot, or a new one.
  static NodeEntry VariableOf(Body* body, std::size_t slot) {
    const Graph graph(body->outputs);
    std::string name = fmt::format("state{}", slot);
    for (const auto& [variable, read] : body->slots) {
      if (read != slot) continue;
      if (const auto found = Find(graph, variable)) return *found;
    }
    while (body->slots.contains(name)) name += "_";
    body->slots[name] = slot;
    return {Node::Variable(name)};
  }

  // ---- loops ----

  // What is carried becomes states behind those of the loop.
  void MakeLoop() {
    Body& body = bodies_.back();
    state_slots_ = flow_.state_slots;
    const auto carry = [&](std::size_t slot, NodeEntry next) {
      body.outputs.push_back(std::move(next));
      state_slots_.push_back(slot);
    };
    if (key_slot_) {
      const NodeEntry key = Find(Graph(body.outputs), kRandomKey)
                                .value_or(NodeEntry{Node::Variable(kRandomKey, {{"__dtype__", "int64"}})});
      carry(*key_slot_, Add("_draw_key", "next_random_key", key));
    }
    for (const std::size_t slot : moved_slots_) carry(slot, body.moved.at(slot));
    const std::size_t num_carried = flow_.num_carried + state_slots_.size() - flow_.state_slots.size();
    if (num_carried > 0) attrs_["num_carried"] = std::to_string(num_carried);
  }

  // The inputs of a _foreach are data, states and the rest, as far as its body reads them.
  void LocateForeach() {
    const Body& body = bodies_[0];
    const Graph graph(body.outputs);
    std::vector<NodeEntry> read;
    std::vector<std::size_t> data, rest;
    for (const Source& source : body.bound->sources) {
      if (!IsSteppedState(source) && !moved_slots_.contains(source.slot)) rest.push_back(source.slot);
      if (source.sliced) data.push_back(source.slot);
    }
    std::sort(data.begin(), data.end());
    std::sort(rest.begin(), rest.end());
    const auto locate = [&](const char* attr, const std::vector<std::size_t>& slots, bool all) {
      IntTuple locations;
      for (const std::size_t slot : slots) {
        const auto location = LocationOf(graph, body, slot);
        if (!location && all) {
          Throw<UnsupportedError>("{}: in training its body does not read input {}", node_.Describe(), slot);
        }
        if (!location) continue;
        locations.push_back(*location);
        read.push_back(inputs_[slot]);
      }
      attrs_[attr] = PrintAttr(locations);
    };
    locate("in_data_locs", data, true);
    locate("in_state_locs", state_slots_, true);
    locate("remain_locs", rest, false);
    inputs_ = std::move(read);
  }

  static std::optional<std::int64_t> LocationOf(const Graph& graph, const Body& body, std::size_t slot) {
    const std::vector<NodeId>& variables = graph.variables();
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (body.slots.at(graph.node(variables[i]).name()) == slot) return static_cast<std::int64_t>(i);
    }
    return std::nullopt;
  }

  void LocateWhileLoop() {
    const Body& body = bodies_[1];
    attrs_["cond_input_locs"] = PrintAttr(SlotsOf(bodies_[0]));
    attrs_["func_input_locs"] = PrintAttr(SlotsOf(body));
    const Graph graph(body.outputs);
    IntTuple states;
    for (const std::size_t slot : state_slots_) {
      const auto location = LocationOf(graph, body, slot);
      if (!location) Throw<UnsupportedError>("{}: in training its body does not read input {}", node_.Describe(), slot);
      states.push_back(*location);
    }
    attrs_["func_var_locs"] = PrintAttr(states);
  }

  // The slot of each variable of the body.
  static IntTuple SlotsOf(const Body& body) {
    const Graph graph(body.outputs);
    IntTuple slots;
    for (const NodeId id : graph.variables()) {
      slots.push_back(static_cast<std::int64_t>(body.slots.at(graph.node(id).name())));
    }
    return slots;
  }

  const Node& node_;
  const Flow& flow_;
  std::vector<NodeEntry> inputs_;
  AttrMap attrs_;
  std::vector<Body> bodies_;  // in the order of the subgraphs
  bool reads_key_ = false;
  std::optional<std::size_t> key_slot_;
  std::set<std::size_t> moved_slots_;
  std::vector<std::size_t> state_slots_;
};

}  // namespace

NodePtr FormBodies(const Node& node, std::vector<NodeEntry> inputs, std::vector<FormedBody> bodies,
                   const std::function<NodeEntry()>& random_key) {
  return FormedFlow(node, std::move(inputs), std::move(bodies), random_key).Finish();
}

std::vector<StateUpdate> StatesMovedBy(const Node& node) {
  std::vector<StateUpdate> updates;
  for (const auto& [slot, output] : node.params<FlowParam>().flow.moved) {
    updates.push_back({slot, static_cast<std::uint32_t>(output), 0, true});
  }
  return updates;
}

}  // namespace amp
