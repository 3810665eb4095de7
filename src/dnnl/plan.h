// A Plan is what a graph becomes for given shapes, options and thread count: immutable, shared by any number of
// sessions.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nnvm/ndarray.h"
#include "program/layer_decision.h"
#include "program/plan_summary.h"
#include "program/step_features.h"

namespace amp::onednn {

class CompiledPlan;  // holds oneDNN objects

// A node, and the steps of the plan that compute it.
struct ProductNode {
  std::string name;
  bool is_backward = false;
  std::vector<std::size_t> steps;
};

struct Plan {
  std::vector<std::string> input_names;
  std::vector<TensorType> input_types;
  std::vector<TensorType> output_types;
  PlanSummary summary;
  std::vector<StepFeatures> features;             // by step of the summary
  std::vector<LayerDecision> decisions;           // of ChooseKernels
  std::vector<ProductNode> products;              // of bfloat16 operands, in graph order
  std::map<std::string, std::string> in_float32;  // as in SavedChoices
  std::shared_ptr<const CompiledPlan> compiled;
};

}  // namespace amp::onednn
