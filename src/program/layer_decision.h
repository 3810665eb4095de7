// A choice between the kernels of a layer that was made while a plan was compiled.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "nnvm/graph.h"
#include "program/step.h"

namespace amp {

// A step, and the types of its operands.
struct TypedStep {
  Step step;
  StepTypes types;
};

struct LayerDecision {
  std::string key;                   // of records, see LayerKey
  std::vector<NodeId> nodes;         // whose steps compute the layer, in whatever way
  std::vector<std::string> kernels;  // names of the options; the first one is what happens without a choice
  std::size_t chosen = 0;
  bool is_tuned = false;
  std::vector<TypedStep> work = {};  // the steps that the chosen own kernel computes; none in a Plan
};

}  // namespace amp
