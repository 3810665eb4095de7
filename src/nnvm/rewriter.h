// The only way to make a changed graph.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nnvm/graph.h"

namespace amp {

// Which nodes of the original graph a node of the new one stands for. Long graphs are rewritten often and asked this
// rarely: what is kept is a list, put in order for the first question.
class Provenance {
 public:
  // In the order of Add; the node itself where nothing was added, because such nodes were kept. Empty for a node that
  // was inserted.
  std::vector<NodePtr> Of(const NodePtr& node) const;
  // `origin` may be nullptr: the node was inserted and stands for none.
  void Add(const Node* made, NodePtr origin);
  // Replaces origins that are nodes of `graph`, which was itself rewritten, by the origins of these.
  void Compose(const Graph& graph, const Provenance& earlier);

 private:
  mutable std::vector<std::pair<const Node*, NodePtr>> origins_;
  mutable bool is_sorted_ = true;
};

struct RewriteResult {
  Graph graph;
  Provenance provenance;
  bool changed = false;  // true iff some node or output differs
};

// Visits a graph's nodes in order and hands each to a function together with its inputs as they are in the new graph;
// the function answers with the new entries that stand for the node's outputs (as many as the node has).
//
//   Rewriter rewriter(graph);
//   RewriteResult result = rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
//     if (graph.node(id).op_name() == "Dropout") return {inputs[0], inputs[0]};
//     return rewriter.KeepNode(id, std::move(inputs));
//   });
//
// Guarantees: a node whose inputs did not change stays the same object; new names are unique in the new graph; the
// provenance of every new node is known.
class Rewriter {
 public:
  using Visit = std::function<std::vector<NodeEntry>(NodeId id, std::vector<NodeEntry> inputs)>;
  using MapOutput = std::function<NodeEntry(std::size_t index, NodeEntry mapped)>;

  explicit Rewriter(const Graph& graph);

  // `map_output`, where given, replaces the new entry of each output of the graph (to put a cast in front of it, say).
  RewriteResult Run(const Visit& visit, const MapOutput& map_output = nullptr);

  // All outputs of the node itself, reading `inputs`.
  std::vector<NodeEntry> KeepNode(NodeId id, std::vector<NodeEntry> inputs);
  // A new node that stands for the one being visited; "_<n>" is appended to a name that is taken. To be called
  // only inside of Run.
  NodePtr Make(Node::Spec spec);
  // A new node that stands for none of the original graph.
  NodePtr Insert(Node::Spec spec);
  // `node` (made with Node::WithAttrs and the like) in place of the one being visited, under the same name.
  std::vector<NodeEntry> Replace(NodePtr node);
  // `node` in place of `origin`, whichever is being visited.
  std::vector<NodeEntry> Replace(NodePtr node, const NodePtr& origin);
  // An operator in place of node `id`, under its name, with its hidden attributes and in its phase.
  std::vector<NodeEntry> ReplaceByOp(NodeId id, const char* op, AttrMap attrs, std::vector<NodeEntry> inputs);

 private:
  NodePtr MakeNamed(Node::Spec spec);
  std::string UniqueName(const std::string& stem);
  bool AddName(const std::string& name);
  const std::string& NameAt(std::uint32_t position) const;

  const Graph& graph_;
  std::vector<NodePtr> control_map_;  // per visited node: what control dependencies on it become
  // Names of nodes by id, then taken_; nothing until a name is asked for. Most comparisons end at the hashes.
  IndexTable names_;
  std::vector<std::uint32_t> hashes_;
  std::vector<std::string> taken_;
  // All nodes made so far, used or not: kept alive, so that provenance_ never sees one address twice.
  std::vector<NodePtr> made_;
  NodeId current_ = 0;
  Provenance provenance_;
};

// Outputs of a graph keep nodes of their own where a rewrite makes readers look elsewhere: an output has a name, and no
// two of them become one.
class KeptOutputs {
 public:
  explicit KeptOutputs(const Graph& graph) : graph_(graph) {}

  // What the graph's outputs read of the node, whatever other readers get.
  void Set(NodeId id, std::vector<NodeEntry> entries) { kept_[id] = std::move(entries); }

  // For Rewriter::Run.
  NodeEntry operator()(std::size_t index, NodeEntry mapped) const {
    const NodeEntry& output = graph_.outputs()[index];
    const auto found = kept_.find(graph_.IdOf(output.node.get()));
    return found == kept_.end() ? mapped : found->second[output.index];
  }

 private:
  const Graph& graph_;
  std::unordered_map<NodeId, std::vector<NodeEntry>> kept_;
};

}  // namespace amp
