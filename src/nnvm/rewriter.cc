#include "nnvm/rewriter.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace amp {
namespace {

std::vector<NodeEntry> AllOutputs(const NodePtr& node) {
  std::vector<NodeEntry> entries;
  for (int i = 0; i < node->num_outputs(); ++i) entries.push_back({node, static_cast<std::uint32_t>(i)});
  return entries;
}

}  // namespace

std::vector<NodePtr> Provenance::Of(const NodePtr& node) const {
  const auto by_node = [](const auto& a, const auto& b) { return std::less<>()(a.first, b.first); };
  if (!std::exchange(is_sorted_, true)) std::stable_sort(origins_.begin(), origins_.end(), by_node);
  const auto [first, last] = std::equal_range(origins_.begin(), origins_.end(), std::pair(node.get(), node), by_node);
  std::vector<NodePtr> origins;
  for (auto it = first; it != last; ++it) origins.push_back(it->second);
  if (origins.empty()) origins.push_back(node);
  return origins;
}

void Provenance::Add(const Node* made, NodePtr origin) {
  origins_.emplace_back(made, std::move(origin));
  is_sorted_ = false;
}

void Provenance::Compose(const Graph& graph, const Provenance& earlier) {
  for (const auto& [made, origin] : std::exchange(origins_, {})) {
    for (NodePtr& first : earlier.Of(origin)) Add(made, std::move(first));
  }
  for (const auto& [made, origin] : earlier.origins_) {
    if (graph.Contains(made)) Add(made, origin);
  }
}

Rewriter::Rewriter(const Graph& graph) : graph_(graph) {}

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
  // What the new graph does not need goes before there is one.
  mapped = {};
  control_map_ = {};
  made_ = {};
  return {Graph(std::move(heads)), std::move(provenance_), changed};
}

void Rewriter::RecordMade() {
  for (; num_recorded_ < made_.size(); ++num_recorded_) {
    provenance_.Add(made_[num_recorded_].get(), graph_.nodes()[current_]);
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
  if (hashes_.empty()) {
    hashes_.reserve(graph_.num_nodes());
    for (const NodePtr& node : graph_.nodes()) AddName(node->name());
  }
  taken_.push_back(wanted);
  for (int i = 1; !AddName(taken_.back()); ++i) taken_.push_back(fmt::format("{}_{}", wanted, i));
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
