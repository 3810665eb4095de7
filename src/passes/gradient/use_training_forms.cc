#include "passes/gradient/use_training_forms.h"

#include <functional>
#include <map>
#include <optional>

#include "nnvm/attr_text.h"
#include "passes/draws_at_inference.h"
#include "passes/gradient/add_gradients.h"
#include "passes/training_form.h"

namespace amp {

namespace {

// Every node of which `uses` is true in its training form.
RewriteResult UseForms(const Graph& graph, const std::function<bool(const Node&)>& uses) {
  Rewriter rewriter(graph);
  std::optional<NodeEntry> key;
  for (const NodeId id : graph.variables()) {
    if (graph.node(id).name() == kRandomKey) key = NodeEntry{graph.nodes()[id]};
  }
  const auto random_key = [&key] {
    if (!key) key = NodeEntry{Node::Variable(kRandomKey, {{"__dtype__", "int64"}, {"__shape__", "(2,)"}})};
    return *key;
  };
  return rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph.node(id);
    const auto* form = node.is_variable() ? nullptr : node.op()->Find<TrainingForm>();
    if (form == nullptr || !uses(node)) return rewriter.KeepNode(id, std::move(inputs));
    const auto make = [&](const char* op, std::string name, AttrMap attrs, std::vector<NodeEntry> read) {
      CopyHiddenAttrs(node, &attrs);
      return rewriter
          .Replace(Node::Make({&OpRegistry::Get().Require(kMXNetDomain, op), std::move(name), std::move(attrs),
                               std::move(read), node.control_deps(), node.phase()}))[0]
          .node;
    };
    TrainingContext context(
        node, inputs, make, [&] { return rewriter.KeepNode(id, inputs); }, random_key);
    return form->make(context);
  });
}

bool ChangesInTraining(const NodePtr& node) {
  const auto* form = node->is_variable() ? nullptr : node->op()->Find<TrainingForm>();
  if (form == nullptr) return false;
  bool changes = false;
  const auto make = [&](const char* op, std::string name, AttrMap attrs, std::vector<NodeEntry> read) {
    changes = true;
    return Node::Make(
        {&OpRegistry::Get().Require(kMXNetDomain, op), std::move(name), std::move(attrs), std::move(read), {}});
  };
  TrainingContext context(
      *node, node->inputs(), make, [&] { return AllOutputs(node); },
      [] { return NodeEntry{Node::Variable(kRandomKey)}; });
  form->make(context);
  return changes;
}

NodePtr FirstChangedInBodies(const Node& node) {
  for (const std::vector<NodeEntry>& body : node.subgraphs()) {
    if (NodePtr found = FirstChangedInTraining(Graph(body))) return found;
  }
  return nullptr;
}

void RequireBodiesForTraining(const Node& node) {
  if (const NodePtr found = FirstChangedInBodies(node)) {
    Throw<UnsupportedError>("{}: in training its body needs another form of {}; unroll the loop", node.Describe(),
                            found->Describe());
  }
}

}  // namespace

NodePtr FirstChangedInTraining(const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) {
    if (ChangesInTraining(node)) return node;
    if (NodePtr found = FirstChangedInBodies(*node)) return found;
  }
  return nullptr;
}

RewriteResult UseTrainingForms(const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) RequireBodiesForTraining(*node);
  return UseForms(graph, [](const Node&) { return true; });
}

RewriteResult UseRandomForms(const Graph& graph) {
  return UseForms(graph, [](const Node& node) {
    const auto* fact = node.op()->Find<DrawsAtInference>();
    return fact != nullptr && fact->holds(node);
  });
}

std::vector<std::pair<std::string, NodeEntry>> StateUpdates(const Graph& graph) {
  std::vector<std::pair<std::string, NodeEntry>> updates;
  int count = 0;
  const auto make = [&count](const Node& node, const char* op, std::vector<NodeEntry> inputs, AttrMap attrs) {
    attrs[kForwardNodeAttr] = node.name();
    return NodeEntry{Node::Make({&OpRegistry::Get().Require(kMXNetDomain, op),
                                 fmt::format("{}_update{}", node.name(), count++),
                                 std::move(attrs),
                                 std::move(inputs),
                                 {},
                                 Phase::kBackward})};
  };
  std::map<std::string, std::size_t> found;
  for (const NodePtr& node : graph.nodes()) {
    const auto* fact = node->is_variable() ? nullptr : node->op()->Find<UpdatesStates>();
    if (fact == nullptr) continue;
    for (const StateUpdate& update : fact->updates(*node)) {
      const NodeEntry& state = node->inputs()[update.slot];
      const auto [place, is_new] = found.emplace(state.node->name(), updates.size());
      if (is_new) updates.emplace_back(state.node->name(), state);
      NodeEntry& value = updates[place->second].second;
      const NodeEntry batch{node, update.output};
      if (is_new) {
        value = make(*node, "_moving_average", {state, batch}, {{"momentum", PrintAttr(update.momentum)}});
        continue;
      }
      const NodeEntry kept = make(*node, "_mul_scalar", {value}, {{"scalar", PrintAttr(update.momentum)}});
      const NodeEntry added = make(*node, "_mul_scalar", {batch}, {{"scalar", PrintAttr(1 - update.momentum)}});
      value = make(*node, "elemwise_add", {kept, added}, {});
    }
  }
  return updates;
}

}  // namespace amp
