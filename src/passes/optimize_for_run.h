// What happens to a model between its symbol and its plan, in two steps: one for the model, one for given shapes.
#pragma once

#include <set>
#include <string>

#include "nnvm/params_file.h"
#include "passes/infer.h"
#include "passes/run_options.h"

namespace amp {

struct PreparedModel {
  Graph graph;
  ModelParams params;
  TypeMap variable_types;  // of all variables of `graph`
  // Some change is right only for inputs with as many axes as they had.
  bool assumes_ranks = false;
};

// The changes that do not depend on shapes, or that change parameters: they are made once, and plans for other shapes
// start from their result. `variable_types`: of all variables, with the shapes of the first binding. Heads keep their
// order and types; their names are those of the given graph.
PreparedModel PrepareModel(const Graph& graph, const ModelParams& params, const TypeMap& variable_types,
                           NumericMode mode);

// The changes that depend on shapes. Leaves alone what is computed from `parameters` only: plans for several shapes
// share the results.
Graph OptimizeForRun(const Graph& graph, const TypeMap& variable_types, const std::set<std::string>& parameters,
                     NumericMode mode);

}  // namespace amp
