#include "nnvm/rewriter.h"

#include <utility>

namespace amp {
namespace {

std::vector<NodeEntry> AllOutputs(const NodePtr& node) {
  std::vector<NodeEntry> entries;
  for (int i = 0; i < node->num_outputs(); ++i) entries.push_back({node, static_cast<std::uint32_t>(i)});
  return entries;
}

}  // namespace

Rewriter::Rewriter(const Graph& graph) : graph_(graph) {
  for (const NodePtr& node : graph.nodes()) names_.insert(node->name());
}

RewriteResult Rewriter::Run(const Visit& visit, const MapHead& map_head) {
  std::vector<NodeEntry> mapped(graph_.num_entries());
  control_map_.assign(graph_.num_nodes(), nullptr);
  for (current_ = 0; current_ < graph_.num_nodes(); ++current_) {
    std::vector<NodeEntry> inputs;
    for (const EntryId input : graph_.InputsOf(current_)) inputs.push_back(mapped[input]);
    const std::vector<NodeEntry> outputs = visit(current_, std::move(inputs));
    const Node& node = graph_.node(current_);
    if (outputs.size() != static_cast<std::size_t>(node.num_outputs())) {
      Throw<InternalError>("a rewrite of {} gave {} entries for {} outputs", node.Describe(), outputs.size(),
                           node.num_outputs());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      mapped[graph_.EntryOf(current_, static_cast<std::uint32_t>(i))] = outputs[i];
    }
    control_map_[current_] = outputs[0].node;
    RecordMade();
  }
  std::vector<NodeEntry> heads;
  bool changed = false;
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    const NodeEntry& old = graph_.outputs()[i];
    current_ = graph_.IdOf(old.node.get());
    NodeEntry head = mapped[graph_.EntryOf(old)];
    if (map_head) head = map_head(i, std::move(head));
    RecordMade();
    changed = changed || head != old;
    heads.push_back(std::move(head));
  }
  RewriteResult result{Graph(std::move(heads)), {}, changed};
  for (const NodePtr& node : result.graph.nodes()) {
    const auto made = provenance_.find(node.get());
    result.provenance[node.get()] = made == provenance_.end() ? std::vector<NodePtr>{node} : made->second;
  }
  return result;
}

void Rewriter::RecordMade() {
  for (; num_recorded_ < made_.size(); ++num_recorded_) {
    provenance_[made_[num_recorded_].get()].push_back(graph_.nodes()[current_]);
  }
}

std::vector<NodeEntry> Rewriter::Keep(NodeId id, std::vector<NodeEntry> inputs) {
  const NodePtr& node = graph_.nodes()[id];
  std::vector<NodePtr> control_deps;
  for (const NodePtr& dep : node->control_deps()) control_deps.push_back(control_map_[graph_.IdOf(dep.get())]);
  if (inputs == node->inputs() && control_deps == node->control_deps()) return AllOutputs(node);
  return Replace(node->WithInputs(std::move(inputs), std::move(control_deps)));
}

NodePtr Rewriter::Make(Node::Spec spec) {
  spec.name = UniqueName(spec.name);
  spec.phase = graph_.node(current_).phase();
  NodePtr node = Node::Make(std::move(spec));
  made_.push_back(node);
  return node;
}

std::vector<NodeEntry> Rewriter::Replace(NodePtr node) {
  made_.push_back(node);
  return AllOutputs(node);
}

std::string Rewriter::UniqueName(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

}  // namespace amp
