// Opens nodes that stand for a subgraph: passes and lowering see plain operators only.
#pragma once

#include <functional>

#include "nnvm/rewriter.h"
#include "nnvm/symbol.h"

namespace amp {

// Fact of an operator whose node stands for its only subgraph; the subgraph's variables, in graph order, are the node's
// inputs, its heads the node's outputs.
struct FusedFact {
  // What the node's output is cast to after the subgraph's own arithmetic; kUnknown: nothing.
  std::function<DType(const Node&)> output_dtype;
};

// Every fused node replaced by what it stands for. Heads keep their names.
RewriteResult Unfuse(const Graph& graph);
Symbol Unfuse(const Symbol& symbol);

}  // namespace amp
