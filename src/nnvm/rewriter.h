// The only way to make a changed graph.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "nnvm/graph.h"

namespace amp {

// Which nodes of the original graph a node of the new one stands for. Long graphs are rewritten often and asked this
// rarely: what is kept is a list, put in order for the first question.
class Provenance {
 public:
  // In the order of Add; the node itself where nothing was added, because such nodes were kept.
  std::vector<NodePtr> Of(const NodePtr& node) const;
  void Add(const Node* made, NodePtr origin);
  // Of nodes whose origins are in `graph`, which was itself rewritten: those of its nodes take their place.
  void Compose(const Graph& graph, const Provenance& earlier);

 private:
  mutable std::vector<std::pair<const Node*, NodePtr>> origins_;
  mutable bool is_sorted_ = true;
};

struct RewriteResult {
  Graph graph;
  Provenance provenance;
  bool changed = false;  // true iff some node or head differs
};

// Visits a graph's nodes in order and hands each to a function together with its inputs as they are in the new graph;
// the function answers with the new entries that stand for the node's outputs (as many as the node has).
//
//   Rewriter rewriter(graph);
//   RewriteResult result = rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
//     if (graph.node(id).op_name() == "Dropout") return {inputs[0], inputs[0]};
//     return rewriter.Keep(id, std::move(inputs));
//   });
//
// Guarantees: a node whose inputs did not change stays the same object; new names are unique in the new graph; the
// provenance of every new node is known.
class Rewriter {
 public:
  using Visit = std::function<std::vector<NodeEntry>(NodeId id, std::vector<NodeEntry> inputs)>;
  using MapHead = std::function<NodeEntry(std::size_t index, NodeEntry mapped)>;

  explicit Rewriter(const Graph& graph);

  // `map_head`, where given, replaces the new entry of each head (to put a cast in front of it, say).
  RewriteResult Run(const Visit& visit, const MapHead& map_head = nullptr);

  // All outputs of the node itself, reading `inputs`.
  std::vector<NodeEntry> Keep(NodeId id, std::vector<NodeEntry> inputs);
  // A new node that stands for the one being visited; "_<n>" is appended to a name that is taken. To be called
  // only inside of Run.
  NodePtr Make(Node::Spec spec);
  // `node` (made with Node::WithAttrs and the like) in place of the one being visited, under the same name.
  std::vector<NodeEntry> Replace(NodePtr node);

 private:
  void RecordMade();
  std::string UniqueName(const std::string& wanted);
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
  std::size_t num_recorded_ = 0;  // of made_, in provenance_
  NodeId current_ = 0;
  Provenance provenance_;
};

}  // namespace amp
