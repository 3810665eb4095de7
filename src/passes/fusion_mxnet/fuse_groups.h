// Groups of nodes become single nodes, as MXNet's subgraph backends make them.
#pragma once

#include <string>
#include <vector>

#include "nnvm/rewriter.h"

namespace amp {

struct FusionGroup {
  std::vector<NodeId> members;  // in graph order; the last one gives the group's output, its output 0
  std::string op, name;
  AttrMap attrs;
  // What a node without subgraph reads; a node with subgraph reads everything that its members read from outside.
  std::vector<EntryId> inputs = {};
  bool keeps_subgraph = true;
};

// Each group replaced by one node. Nothing but the group may read its members, other than output 0 of the last, and no
// node may be in two groups. The subgraph's variables are named as MXNet does: after what they stand for, with a
// number. A sum reads the group's own part first, so that the other operand is the last input. Members that are fused
// nodes themselves are opened into the subgraph. A group with members of both phases stays as it is.
Graph FuseGroups(const Graph& graph, std::vector<FusionGroup> groups);

}  // namespace amp
