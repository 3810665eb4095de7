#include "passes/optimize/eliminate_identities.h"

#include <numeric>
#include <utility>

namespace amp {

Identities::Identities(const Graph& graph) : same_as(graph.num_entries()) {
  std::iota(same_as.begin(), same_as.end(), EntryId{0});
}

RewriteResult EliminateIdentities(const Graph& graph, const Identities& identities) {
  Rewriter rewriter(graph);
  KeptOutputs kept(graph);
  std::vector<NodeEntry> mapped(graph.num_entries());
  const auto visit = [&](NodeId id, std::vector<NodeEntry> inputs) {
    const auto reads = identities.reads.find(id);
    if (reads != identities.reads.end()) inputs[0] = mapped[reads->second];
    std::vector<NodeEntry> outputs = rewriter.KeepNode(id, std::move(inputs));
    if (identities.keeps_outputs && graph.HasOutput(id)) kept.Set(id, outputs);
    const EntryRange entries = graph.OutputsOf(id);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const EntryId same = graph.HasControlDeps(id) ? entries[i] : identities.same_as[entries[i]];
      if (same != entries[i]) outputs[i] = mapped[same];
      mapped[entries[i]] = outputs[i];
    }
    return outputs;
  };
  return rewriter.Run(visit, [&](std::size_t i, NodeEntry entry) { return kept(i, std::move(entry)); });
}

}  // namespace amp
