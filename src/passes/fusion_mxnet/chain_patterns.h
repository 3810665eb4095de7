// MXNet's table of what its oneDNN backends fuse: chains of operators, by name and attribute.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "passes/fusion_mxnet/fuse_groups.h"
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

// One condition: may `next` follow the chain that begins with `seed`? Its operator is right already.
using FusionFits = bool (*)(const FusionScope& scope, NodeId seed, NodeId next);

// Operators that may stand in one place of a chain.
struct FusionLink {
  std::vector<std::string> ops;
  FusionFits fits;
};

// One place in a chain.
struct FusionStage {
  const char* word;        // in the fused node's name
  const char* attr;        // the fused node says `yes` for it ...
  const char* attr_after;  // ... or here where there is a sum before it
  std::vector<FusionLink> links;
  bool required = false;
};

// When a chain is looked for: before MXNet's patterns of attention, after them, or in what the others have fused.
enum class FusionOrder { kLayers, kAfterAttention, kOfFused };

// One row of the table: a chain that begins with one operator, and the node that stands for it. A chain with `doc` has
// its operator registered from this row.
struct FusionChain {
  std::string seed;  // an operator
  FusionFits may_begin = nullptr;
  std::string op, stem;  // "_sg_onednn_conv", "sg_onednn_conv"; without a stem the node is named as the seed
  std::vector<FusionStage> stages = {};
  const char* yes = "true";
  FusionOrder order = FusionOrder::kLayers;
  const char* before_number = "_";
  bool keeps_subgraph = true;
  bool writes_float32 = false;  // ONEDNN_AMP lets it absorb a cast to float32
  AttrMap (*copied_attrs)(const Graph& graph, const std::vector<NodeId>& members) = nullptr;
  const char* doc = nullptr;
  std::vector<const char*> repeated = {};  // attributes of the operator that only repeat what its subgraph says
};

// How a version of MXNet names its fused operators and nodes, and what it fuses: 1.9 and 2.x.
enum class FusionDialect { kMklDnn, kOneDnn };

// In the order in which they take nodes.
const std::vector<FusionChain>& FusionChains(FusionDialect dialect);

// The groups of one chain, numbered from 0 in graph order. A link from one node to the next needs a producer that is
// no output of the graph and that has one reader.
std::vector<FusionGroup> FindGroups(const FusionScope& scope, const FusionChain& chain);

}  // namespace amp
