// EliminateIdentities: readers of a copy read what it copies.
#pragma once

#include <unordered_map>
#include <vector>

#include "nnvm/rewriter.h"

namespace amp {

// Which tensors are copies.
struct Identities {
  explicit Identities(const Graph& graph);

  std::vector<EntryId> same_as;               // by entry: an earlier entry with the same value, or the entry itself
  std::unordered_map<NodeId, EntryId> reads;  // nodes whose input 0 is to be an earlier entry than theirs
  bool keeps_outputs = true;                  // a copy that is an output of the graph stays, for its name
};

// Nodes with control dependencies stay, whatever `identities` says.
RewriteResult EliminateIdentities(const Graph& graph, const Identities& identities);

}  // namespace amp
