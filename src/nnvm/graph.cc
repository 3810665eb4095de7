#include "nnvm/graph.h"

#include <utility>

namespace amp {

Graph::Graph(std::vector<NodeEntry> outputs) : outputs_(std::move(outputs)) {
  for (const NodeEntry& entry : outputs_) {
    if (!entry.node) throw GraphError("a graph's output is missing");
    if (entry.index >= static_cast<std::uint32_t>(entry.node->num_outputs())) {
      FailAt(*entry.node, "output {} is a head of the graph, but the node has {} outputs", entry.index,
             entry.node->num_outputs());
    }
  }
  Visit();
  Index();
}

void Graph::Visit() {
  struct Frame {
    const NodePtr* node;
    std::size_t next;  // inputs first, then control dependencies
  };
  constexpr NodeId kOnStack = ~NodeId{0};
  std::vector<Frame> stack;
  const auto push = [&](const NodePtr& node) {
    if (ids_.emplace(node.get(), kOnStack).second) stack.push_back({&node, 0});
  };
  for (const NodeEntry& output : outputs_) {
    push(output.node);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Node& node = **frame.node;
      const std::size_t num_inputs = node.inputs().size();
      if (frame.next < num_inputs + node.control_deps().size()) {
        const std::size_t i = frame.next++;
        push(i < num_inputs ? node.inputs()[i].node : node.control_deps()[i - num_inputs]);
        continue;
      }
      ids_[&node] = static_cast<NodeId>(nodes_.size());
      nodes_.push_back(*frame.node);
      stack.pop_back();
    }
  }
}

void Graph::Index() {
  first_entry_.push_back(0);
  first_input_.push_back(0);
  is_auxiliary_.resize(nodes_.size());
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& node = *nodes_[id];
    first_entry_.push_back(first_entry_.back() + node.num_outputs());
    entry_node_.insert(entry_node_.end(), node.num_outputs(), id);
    for (std::size_t slot = 0; slot < node.inputs().size(); ++slot) {
      const NodeEntry& input = node.inputs()[slot];
      const NodeId source = ids_.at(input.node.get());
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
  is_output_.resize(num_entries());
  for (const NodeEntry& output : outputs_) is_output_[EntryOf(output)] = true;
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
    for (const auto& [key, value] : node.attrs()) text += fmt::format(" {}={}", key, value);
    text += "\n";
  }
  text += "outputs:";
  for (const NodeEntry& output : graph.outputs()) text += " " + entry_text(graph.EntryOf(output));
  return text + "\n";
}

}  // namespace amp
