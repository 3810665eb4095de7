#include "passes/mark_backward.h"

#include <algorithm>
#include <set>
#include <utility>

#include "nnvm/error.h"
#include "nnvm/graph.h"

namespace amp {
namespace {

// Copies the outputs with every operator in `phases`, by NodeId of their graph, and all that their subgraphs hold.
std::vector<NodeEntry> WithPhases(const Graph& graph, const std::vector<Phase>& phases) {
  std::vector<NodePtr> made(graph.num_nodes());
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const NodePtr& node = graph.nodes()[id];
    if (node->is_variable()) {
      made[id] = node;
      continue;
    }
    Node::Spec spec{node->op(), node->name(), node->attrs(), {}, {}, phases[id], {}};
    for (const NodeEntry& input : node->inputs()) {
      spec.inputs.push_back({made[graph.IdOf(input.node.get())], input.index});
    }
    for (const NodePtr& dep : node->control_deps()) spec.control_deps.push_back(made[graph.IdOf(dep.get())]);
    for (const std::vector<NodeEntry>& outputs : node->subgraphs()) {
      const Graph inner(outputs);
      spec.subgraphs.push_back(WithPhases(inner, std::vector<Phase>(inner.num_nodes(), phases[id])));
    }
    made[id] = Node::Make(std::move(spec));
  }
  std::vector<NodeEntry> outputs;
  for (const NodeEntry& output : graph.outputs()) {
    outputs.push_back({made[graph.IdOf(output.node.get())], output.index});
  }
  return outputs;
}

std::vector<bool> NodesNamed(const Graph& graph, const std::vector<std::string>& names) {
  const std::set<std::string> asked_for(names.begin(), names.end());
  std::vector<bool> found(graph.num_nodes());
  std::vector<std::string> known;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    known.push_back(graph.node(id).name());
    found[id] = asked_for.contains(known.back());
  }
  std::string problems;
  for (const std::string& name : asked_for) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    problems += fmt::format("\n  no node is named '{}'{}", Quotable(name), NearMatches(name, known));
  }
  if (!problems.empty()) Throw<ArgumentError>("the boundary:{}", problems);
  return found;
}

}  // namespace

Symbol MarkBackward(const Symbol& symbol, const std::vector<std::string>& boundary) {
  const Graph graph = symbol.ToGraph();
  std::vector<bool> descends = NodesNamed(graph, boundary);
  std::vector<Phase> phases(graph.num_nodes(), Phase::kForward);
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    for (const EntryId input : graph.InputsOf(id)) descends[id] = descends[id] || descends[graph.NodeOf(input)];
    if (descends[id]) phases[id] = Phase::kBackward;
  }
  return Symbol(WithPhases(graph, phases), symbol.np_shape());
}

bool HasGradients(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const NodePtr& node) { return !node->is_variable() && node->phase() == Phase::kBackward; });
}

}  // namespace amp
