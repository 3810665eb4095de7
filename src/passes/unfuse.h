// Opens nodes that stand for a subgraph: passes and lowering see plain operators only.
#pragma once

#include <functional>

#include "nnvm/rewriter.h"
#include "nnvm/symbol.h"

namespace amp {

// Fact of an operator whose node stands for its only subgraph; the subgraph's variables, in graph order, are the node's
// inputs, its heads the node's outputs.
struct FusedFact {
  // The dtype that the node writes whatever its subgraph's arithmetic gives; kUnknown: that of the subgraph.
  std::function<DType(const Node&)> output_dtype;
};

bool IsFused(const Node& node);

// Every fused node replaced by what it stands for. Heads keep their names. A node with an output dtype of its own
// becomes a product that writes it (kOutDTypeAttr) where what follows the product can carry it on; else a cast is
// added.
RewriteResult Unfuse(const Graph& graph);
Symbol Unfuse(const Symbol& symbol);

}  // namespace amp
