// MXNet's table of what its oneDNN backends fuse: chains of operators, by name and attribute.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "passes/fuse_groups.h"
#include "passes/infer.h"

namespace amp {

// What a pattern is looked for in. `origins` is for graphs that were opened: by name of an operator node, the fused
// node it came from. Where it is given, a group has members of one origin only, and that node's name and operator.
using FusedOrigins = std::map<std::string, NodePtr>;
struct FusionScope {
  const Graph& graph;
  const Types& types;
  const FusedOrigins* origins = nullptr;
};

// Where the node came from; nullptr for one that was never fused.
const Node* OriginOf(const FusionScope& scope, NodeId id);

// How one version of MXNet names its fused operators and nodes, and what it fuses.
struct FusionDialect {
  const char* library;  // "onednn"
  bool is_2;            // 2.x
};

// A chain that begins with one operator.
enum class FusionPattern { kConvolution, kFullyConnected, kFullyConnectedSum, kBatchNormRelu, kBatchDot, kPowerTimes };

// The groups of one pattern, numbered from 0 in graph order. A link from one node to the next needs a producer that is
// no head and that nobody else reads.
std::vector<FusionGroup> FindGroups(const FusionScope& scope, FusionPattern pattern, const FusionDialect& dialect);

// Whether exactly one slot reads anything of the node, namely its output 0, and it is no head.
bool HasOneReader(const Graph& graph, NodeId id);

}  // namespace amp
