// The four pipelines of graph passes. passes/pipelines.cc lists their stages.
#pragma once

#include <string>
#include <vector>

#include "passes/model.h"
#include "passes/numeric_mode.h"
#include "passes/optimize/constant_values.h"

namespace amp {

struct Conversion;

// Decides which tensors are in low precision and rewrites the graph.
void RunConversion(Conversion& conversion);

// A model on its way to a plan.
struct Preparation {
  Model model;
  NumericMode mode = NumericMode::kFast;
  NodeRunner runner = {};
  // Some change is right only for inputs with as many axes as they had.
  bool assumes_ranks = false;
};

// The changes that do not depend on shapes, or that change parameters: they are made once, and plans for other shapes
// start from their result. The model's types are those of the first binding. Outputs keep their order and types; their
// names are those of the given graph.
void PrepareModel(Preparation& preparation);

// The changes that depend on shapes. Leaves alone what is computed from parameters only: plans for several shapes share
// the results.
void OptimizeForShapes(Preparation& preparation);

// The changes to a graph in training form before its gradients are taken: what is fused here is one operator in both
// halves.
void PrepareForGradients(Preparation& preparation);

// Names of the passes that AMP_DISABLE_PASSES may leave out.
std::vector<std::string> OptionalPasses();

}  // namespace amp
