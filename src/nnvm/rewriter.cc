#include "nnvm/rewriter.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace amp {
std::vector<NodePtr> Provenance::Of(const NodePtr& node) const {
  const auto by_node = [](const auto& a, const auto& b) { return std::less<>()(a.first, b.first); };
  if (!std::exchange(is_sorted_, true)) std::stable_sort(origins_.begin(), origins_.end(), by_node);
  const auto [first, last] = std::equal_range(origins_.begin(), origins_.end(), std::pair(node.get(), node), by_node);
  if (first == last) return {node};
  std::vector<NodePtr> origins;
  for (auto it = first; it != last; ++it) {
    if (it->second != nullptr) origins.push_back(it->second);
  }
  return origins;
}

void Provenance::Add(const Node* made, NodePtr origin) {
  origins_.emplace_back(made, std::move(origin));
  is_sorted_ = false;
}

void Provenance::Compose(const Graph& graph, const Provenance& earlier) {
  for (const auto& [made, origin] : std::exchange(origins_, {})) {
    std::vector<NodePtr> firsts = origin != nullptr ? earlier.Of(origin) : std::vector<NodePtr>();
    if (firsts.empty()) Add(made, nullptr);
    for (NodePtr& first : firsts) Add(made, std::move(first));
  }
  for (const auto& [made, origin] : earlier.origins_) {
    if (graph.Contains(made)) Add(made, origin);
  }
}

Rewriter::Rewriter(const Graph& graph) : graph_(graph) {}

RewriteResult Rewriter::Run(const Visit& visit, const MapOutput& map_output) {
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
      mapped[graph_.EntryOf(current_, i)] = outputs[i];
    }
    control_map_[current_] = outputs[0].node;
  }
  std::vector<NodeEntry> outputs;
  bool changed = false;
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    const NodeEntry& old = graph_.outputs()[i];
    current_ = graph_.IdOf(old.node.get());
    NodeEntry output = mapped[graph_.EntryOf(old)];
    if (map_output) output = map_output(i, std::move(output));
    changed = changed || output != old;
    outputs.push_back(std::move(output));
  }
  // What the new graph does not need goes before there is one.
  mapped = {};
  control_map_ = {};
  made_ = {};
  return {Graph(std::move(outputs)), std::move(provenance_), changed};
}

std::vector<NodeEntry> Rewriter::KeepNode(NodeId id, std::vector<NodeEntry> inputs) {
  const NodePtr& node = graph_.nodes()[id];
  std::vector<NodePtr> control_deps;
  for (const NodePtr& dep : node->control_deps()) control_deps.push_back(control_map_[graph_.IdOf(dep.get())]);
  if (inputs == node->inputs() && control_deps == node->control_deps()) return AllOutputs(node);
  return Replace(node->WithInputs(std::move(inputs), std::move(control_deps)), node);
}

NodePtr Rewriter::Make(Node::Spec spec) {
  NodePtr node = MakeNamed(std::move(spec));
  provenance_.Add(node.get(), graph_.nodes()[current_]);
  return node;
}

NodePtr Rewriter::Insert(Node::Spec spec) {
  NodePtr node = MakeNamed(std::move(spec));
  provenance_.Add(node.get(), nullptr);
  return node;
}

NodePtr Rewriter::MakeNamed(Node::Spec spec) {
  spec.name = UniqueName(spec.name);
  spec.phase = graph_.node(current_).phase();
  made_.push_back(Node::Make(std::move(spec)));
  return made_.back();
}

std::vector<NodeEntry> Rewriter::Replace(NodePtr node) { return Replace(std::move(node), graph_.nodes()[current_]); }

std::vector<NodeEntry> Rewriter::Replace(NodePtr node, const NodePtr& origin) {
  made_.push_back(node);
  provenance_.Add(node.get(), origin);
  return AllOutputs(node);
}

std::vector<NodeEntry> Rewriter::ReplaceByOp(NodeId id, const char* op, AttrMap attrs, std::vector<NodeEntry> inputs) {
  const Node& node = graph_.node(id);
  CopyHiddenAttrs(node, &attrs);
  const Op& registered = OpRegistry::Get().Require(kMXNetDomain, op);
  Node::Spec spec{&registered, node.name(), std::move(attrs), std::move(inputs), {}, node.phase()};
  return Replace(Node::Make(std::move(spec)), graph_.nodes()[id]);
}

std::string Rewriter::UniqueName(const std::string& stem) {
  if (hashes_.empty()) {
    hashes_.reserve(graph_.num_nodes());
    for (const NodePtr& node : graph_.nodes()) AddName(node->name());
  }
  taken_.push_back(stem);
  for (int i = 1; !AddName(taken_.back()); ++i) taken_.push_back(fmt::format("{}_{}", stem, i));
  return taken_.back();
}

// Whether it is the first of that name.
bool Rewriter::AddName(const std::string& name) {
  const auto position = static_cast<std::uint32_t>(hashes_.size());
  const auto hash = static_cast<std::uint32_t>(std::hash<std::string>()(name));
  hashes_.push_back(hash);
  const auto is_it = [&](std::uint32_t i) { return hashes_[i] == hash && NameAt(i) == name; };
  if (names_.Find(hash, is_it) != IndexTable::kNone) return false;
  names_.Insert(position, [this](std::uint32_t i) { return hashes_[i]; });
  return true;
}

const std::string& Rewriter::NameAt(std::uint32_t position) const {
  return position < graph_.num_nodes() ? graph_.node(position).name() : taken_[position - graph_.num_nodes()];
}

}  // namespace amp
