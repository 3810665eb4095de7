// Opens nodes that stand for a subgraph: passes and lowering see plain operators only.
#pragma once

#include <functional>

#include "nnvm/rewriter.h"
#include "nnvm/symbol.h"

namespace amp {

bool IsFused(const Node& node);

// Every fused node replaced by what it stands for. Outputs of the graph keep their names. A node with an output dtype
// of its own becomes a product that writes it (kOutDTypeAttr) where what follows the product can carry it on; else a
// cast is added.
RewriteResult Unfuse(const Graph& graph);
Symbol Unfuse(const Symbol& symbol);

}  // namespace amp
