#include "nnvm/graph.h"

#include <functional>
#include <utility>

namespace amp {
namespace {

std::size_t HashOf(const Node* node) { return std::hash<const Node*>()(node); }

}  // namespace

Graph::Graph(std::vector<NodeEntry> outputs) : outputs_(std::move(outputs)) {
  for (const NodeEntry& entry : outputs_) {
    if (!entry.node) throw GraphError("a graph's output is missing");
    if (entry.index >= static_cast<std::uint32_t>(entry.node->num_outputs())) {
      FailAt(*entry.node, "output {} is an output of the graph, but the node has {} outputs", entry.index,
             entry.node->num_outputs());
    }
  }
  Visit();
  Index();
}

NodeId Graph::Find(const Node* node) const {
  return ids_.Find(HashOf(node), [&](NodeId id) { return nodes_[id].get() == node; });
}

NodeId Graph::IdOf(const Node* node) const {
  const NodeId id = Find(node);
  if (id == IndexTable::kNone) Throw<InternalError>("a graph was asked for a node that is not in it");
  return id;
}

// `ids_` numbers nodes as they are found, until all are; then as they are finished, after everything they read.
void Graph::Visit() {
  struct Frame {
    std::uint32_t found;
    std::size_t next;  // inputs first, then control dependencies
  };
  std::vector<const NodePtr*> found;
  std::vector<NodeId> ids;  // of those found
  std::vector<Frame> stack;
  const auto push = [&](const NodePtr& node) {
    const auto is_it = [&](std::uint32_t i) { return *found[i] == node; };
    if (ids_.Find(HashOf(node.get()), is_it) != IndexTable::kNone) return;
    stack.push_back({static_cast<std::uint32_t>(found.size()), 0});
    found.push_back(&node);
    ids.push_back(IndexTable::kNone);
    ids_.Insert(stack.back().found, [&](std::uint32_t i) { return HashOf(found[i]->get()); });
  };
  for (const NodeEntry& output : outputs_) {
    push(output.node);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Node& node = **found[frame.found];
      const std::size_t num_inputs = node.inputs().size();
      if (frame.next < num_inputs + node.control_deps().size()) {
        const std::size_t i = frame.next++;
        push(i < num_inputs ? node.inputs()[i].node : node.control_deps()[i - num_inputs]);
        continue;
      }
      ids[frame.found] = static_cast<NodeId>(nodes_.size());
      nodes_.push_back(*found[frame.found]);
      stack.pop_back();
    }
  }
  ids_.Renumber([&](std::uint32_t i) { return ids[i]; });
}

// Arrays that grow by themselves take up to three times their size while they do.
void Graph::Reserve() {
  std::size_t num_entries = 0, num_inputs = 0;
  for (const NodePtr& node : nodes_) {
    num_entries += static_cast<std::size_t>(node->num_outputs());
    num_inputs += node->inputs().size();
  }
  nodes_.shrink_to_fit();
  first_entry_.reserve(nodes_.size() + 1);
  first_input_.reserve(nodes_.size() + 1);
  entry_node_.reserve(num_entries);
  input_entries_.reserve(num_inputs);
}

void Graph::Index() {
  Reserve();
  first_entry_.push_back(0);
  first_input_.push_back(0);
  is_auxiliary_.resize(nodes_.size());
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& node = *nodes_[id];
    first_entry_.push_back(first_entry_.back() + node.num_outputs());
    entry_node_.insert(entry_node_.end(), node.num_outputs(), id);
    for (std::size_t slot = 0; slot < node.inputs().size(); ++slot) {
      const NodeEntry& input = node.inputs()[slot];
      const NodeId source = IdOf(input.node.get());
      input_entries_.push_back(first_entry_[source] + input.index);
      if (node.IsMutable(slot)) is_auxiliary_[source] = true;
    }
    first_input_.push_back(static_cast<std::uint32_t>(input_entries_.size()));
    if (node.is_variable()) variables_.push_back(id);
  }
  first_consumer_.assign(num_entries() + 1, 0);
  for (const EntryId entry : input_entries_) ++first_consumer_[entry + 1];
  for (std::size_t e = 0; e < num_entries(); ++e) first_consumer_[e + 1] += first_consumer_[e];
  consumers_.resize(input_entries_.size());
  std::vector<std::uint32_t> next(first_consumer_.begin(), first_consumer_.end() - 1);
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const auto inputs = InputsOf(id);
    for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) consumers_[next[inputs[slot]]++] = {id, slot};
  }
  has_control_deps_.resize(nodes_.size());
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    for (const NodePtr& dep : nodes_[id]->control_deps())
      has_control_deps_[id] = has_control_deps_[IdOf(dep.get())] = true;
  }
  is_output_.resize(num_entries());
  for (const NodeEntry& output : outputs_) is_output_[EntryOf(output)] = true;
}

bool Graph::HasOutput(NodeId id) const {
  for (const EntryId entry : OutputsOf(id)) {
    if (IsOutput(entry)) return true;
  }
  return false;
}

const Consumer* Graph::OnlyReader(EntryId entry) const {
  const std::span<const Consumer> readers = ConsumersOf(entry);
  return readers.size() == 1 && !IsOutput(entry) ? &readers[0] : nullptr;
}

bool Graph::OnlyFirstOutputUsed(NodeId id) const {
  const EntryRange outputs = OutputsOf(id);
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    if (IsOutput(outputs[i]) || !ConsumersOf(outputs[i]).empty()) return false;
  }
  return true;
}

const Consumer* Graph::OnlyReaderOf(NodeId id) const {
  return OutputsOf(id).size() > 0 && OnlyFirstOutputUsed(id) ? OnlyReader(EntryOf(id, 0)) : nullptr;
}

std::string PrintGraph(const Graph& graph) {
  std::string text;
  const auto entry_text = [&](EntryId entry) {
    const std::uint32_t index = graph.IndexOf(entry);
    return fmt::format("%{}{}", graph.NodeOf(entry), index ? fmt::format(".{}", index) : "");
  };
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    text += fmt::format("%{} {} = {}(", id, node.name(), node.op_name());
    const char* separator = "";
    for (const EntryId input : graph.InputsOf(id)) {
      text += separator + entry_text(input);
      separator = ", ";
    }
    text += ")";
    for (const NodePtr& dep : node.control_deps()) text += fmt::format(" after %{}", graph.IdOf(dep.get()));
    for (const auto& [key, value] : node.attrs()) {
      const bool says_nothing = node.is_variable() && !key.starts_with("__");  // its operator's
      if (!says_nothing) text += fmt::format(" {}={}", key, value);
    }
    text += "\n";
  }
  text += "outputs:";
  for (const NodeEntry& output : graph.outputs()) text += " " + entry_text(graph.EntryOf(output));
  return text + "\n";
}

}  // namespace amp
