// A symbol with types, ready for a pass.
#pragma once

#include <set>
#include <string>

#include "nnvm/compose.h"
#include "passes/infer.h"

namespace amp::testing {

struct TypedGraph {
  Graph graph;
  Types types;
  std::vector<bool> parameters;  // by NodeId
};

// Variables are float32[2,2] unless `known` says otherwise.
inline TypedGraph MakeTyped(const Symbol& symbol, const std::set<std::string>& parameters = {}, TypeMap known = {}) {
  Graph graph = symbol.ToGraph();
  std::vector<bool> is_parameter(graph.num_nodes());
  for (const NodeId id : graph.variables()) {
    const std::string& name = graph.node(id).name();
    is_parameter[id] = parameters.contains(name);
    TensorType& type = known[name];
    if (!IsKnown(type.dtype)) type.dtype = DType::kFloat32;
    if (!type.shape.rank_known()) type.shape = Shape{2, 2};
  }
  Types types = Infer(graph, known);
  return {std::move(graph), std::move(types), std::move(is_parameter)};
}

}  // namespace amp::testing
