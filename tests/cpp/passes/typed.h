// A symbol with types, ready for a pass.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "nnvm/compose.h"
#include "passes/model.h"
#include "passes/precision/decision.h"

namespace amp::testing {

// Variables are float32[2,2] unless `known` says otherwise. All types are known.
inline Model MakeTyped(const Symbol& symbol, const std::set<std::string>& parameters = {}, TypeMap known = {}) {
  Graph graph = symbol.ToGraph();
  for (const NodeId id : graph.variables()) {
    TensorType& type = known[graph.node(id).name()];
    if (!IsKnown(type.dtype)) type.dtype = DType::kFloat32;
    if (!type.shape.rank_known()) type.shape = Shape{2, 2};
  }
  Infer(graph, known);
  return Model(std::move(graph), std::move(known), parameters);
}

// A dense layer of such variables: two outputs, no bias.
inline Symbol Dense2x2(const std::string& name, const Symbol& data) {
  return Op("FullyConnected", name, {data, Var(name + "_weight")}, {{"num_hidden", "2"}, {"no_bias", "True"}});
}

inline NodeId IdOf(const Model& model, const std::string& name) {
  for (NodeId id = 0; id < model.graph().num_nodes(); ++id) {
    if (model.graph().node(id).name() == name) return id;
  }
  ADD_FAILURE() << "no node " << name;
  return 0;
}

// `graph` in the place of the model's.
inline Model WithGraph(Model model, const Graph& graph) {
  model.Replace(graph);
  return model;
}

// The decision with the kinds of reasons instead of their sentences: "fc.data <- bfloat16: reads_low conv_output".
inline std::string PrintKinds(const Graph& graph, const Decision& decision) {
  return decision.Print(graph, [&](const Reason& reason) {
    const ReasonInfo& info = InfoOf(reason.kind);
    const std::string_view text = info.text;
    std::string kind = info.name;
    if (text.find("{cause}") != std::string_view::npos && reason.cause != Reason::kNone) {
      kind += " " + graph.EntryName(reason.cause);
    }
    if (reason.detail != Reason::kNone) kind += " (" + decision.details[reason.detail] + ")";
    return kind;
  });
}

}  // namespace amp::testing
