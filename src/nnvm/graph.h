// The indexed, immutable view of a symbol graph that passes and the executor work on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nnvm/index_table.h"
#include "nnvm/node.h"

namespace amp {

using NodeId = std::uint32_t;
using EntryId = std::uint32_t;

// One reader of an entry: input `slot` of node `node`.
struct Consumer {
  NodeId node;
  std::uint32_t slot;
};

// Consecutive entries.
class EntryRange {
 public:
  class Iterator {
   public:
    explicit Iterator(EntryId entry) : entry_(entry) {}
    EntryId operator*() const { return entry_; }
    Iterator& operator++() {
      ++entry_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    EntryId entry_;
  };

  EntryRange(EntryId first, EntryId end) : first_(first), end_(end) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(end_); }
  std::size_t size() const { return end_ - first_; }
  EntryId operator[](std::size_t i) const { return first_ + static_cast<EntryId>(i); }

 private:
  EntryId first_, end_;
};

class Graph {
 public:
  // Indexes everything that the outputs reach, in linear time and without recursion.
  explicit Graph(std::vector<NodeEntry> outputs);

  const std::vector<NodeEntry>& outputs() const { return outputs_; }

  // Nodes in depth-first post-order from the first output: inputs always precede their readers.
  std::size_t num_nodes() const { return nodes_.size(); }
  const std::vector<NodePtr>& nodes() const& { return nodes_; }
  void nodes() && = delete;  // `for (... : symbol.ToGraph().nodes())` would read a graph that is gone
  const Node& node(NodeId id) const { return *nodes_[id]; }
  NodeId IdOf(const Node* node) const;
  bool Contains(const Node* node) const { return Find(node) != IndexTable::kNone; }

  // Entries are numbered node by node, hidden outputs included.
  std::size_t num_entries() const { return first_entry_.back(); }
  EntryId EntryOf(NodeId id, std::size_t index) const { return first_entry_[id] + static_cast<EntryId>(index); }
  EntryId EntryOf(const NodeEntry& entry) const { return EntryOf(IdOf(entry.node.get()), entry.index); }
  NodeId NodeOf(EntryId entry) const { return entry_node_[entry]; }
  std::uint32_t IndexOf(EntryId entry) const { return entry - first_entry_[entry_node_[entry]]; }
  EntryRange OutputsOf(NodeId id) const { return {first_entry_[id], first_entry_[id + 1]}; }
  std::span<const EntryId> InputsOf(NodeId id) const {
    return {input_entries_.data() + first_input_[id], first_input_[id + 1] - first_input_[id]};
  }
  std::string EntryName(EntryId entry) const { return OutputName({nodes_[entry_node_[entry]], IndexOf(entry)}); }

  std::span<const Consumer> ConsumersOf(EntryId entry) const {
    return {consumers_.data() + first_consumer_[entry], first_consumer_[entry + 1] - first_consumer_[entry]};
  }
  bool IsOutput(EntryId entry) const { return is_output_[entry]; }
  // Some output of the node is an output of the graph.
  bool HasOutput(NodeId id) const;
  // The only slot that reads the entry; nullptr where there are several or none, or where the entry is an output.
  const Consumer* OnlyReader(EntryId entry) const;
  // Nothing reads outputs 1, 2, ... of the node, and they are no outputs of the graph.
  bool OnlyFirstOutputUsed(NodeId id) const;
  // The only slot that reads anything of the node, namely its output 0; nullptr as for OnlyReader.
  const Consumer* OnlyReaderOf(NodeId id) const;
  // The node is at either end of a control dependency.
  bool HasControlDeps(NodeId id) const { return has_control_deps_[id]; }

  // Variables in node order. A variable is auxiliary iff it feeds a mutable input.
  const std::vector<NodeId>& variables() const { return variables_; }
  bool IsAuxiliary(NodeId id) const { return is_auxiliary_[id]; }

 private:
  NodeId Find(const Node* node) const;
  void Visit();
  void Reserve();
  void Index();

  std::vector<NodeEntry> outputs_;
  std::vector<NodePtr> nodes_;
  IndexTable ids_;
  std::vector<EntryId> first_entry_;
  std::vector<NodeId> entry_node_;
  std::vector<std::uint32_t> first_input_;
  std::vector<EntryId> input_entries_;
  std::vector<std::uint32_t> first_consumer_;
  std::vector<Consumer> consumers_;
  std::vector<bool> is_output_;
  std::vector<bool> is_auxiliary_;
  std::vector<bool> has_control_deps_;
  std::vector<NodeId> variables_;
};

// One line per node: "%3 conv0 = Convolution(%0, %1) kernel=(3, 3)", control dependencies as " after %2";
// deterministic.
std::string PrintGraph(const Graph& graph);

}  // namespace amp
