#include "nnvm/inline_subgraph.h"

#include <utility>

#include "nnvm/graph.h"

namespace amp {

std::vector<NodeEntry> InlineSubgraph(const std::vector<NodeEntry>& outputs, const std::vector<NodeEntry>& inputs,
                                      const CopyNode& copy) {
  const Graph body(outputs);
  std::vector<NodeEntry> mapped(body.num_entries());
  for (std::size_t i = 0; i < body.variables().size(); ++i) mapped[body.EntryOf(body.variables()[i], 0)] = inputs[i];
  for (NodeId id = 0; id < body.num_nodes(); ++id) {
    if (body.node(id).is_variable()) continue;
    std::vector<NodeEntry> read;
    for (const EntryId input : body.InputsOf(id)) read.push_back(mapped[input]);
    const std::vector<NodeEntry> made = AllOutputs(copy(body.node(id), std::move(read)));
    for (std::size_t i = 0; i < made.size(); ++i) mapped[body.EntryOf(id, i)] = made[i];
  }
  std::vector<NodeEntry> result;
  for (const NodeEntry& output : outputs) result.push_back(mapped[body.EntryOf(output)]);
  return result;
}

}  // namespace amp
