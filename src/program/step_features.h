// What the time of a step depends on: which law it follows, and where it lies among the steps of that law.
#pragma once

#include <string>
#include <vector>

#include "program/step_cost.h"

namespace amp {

enum class EltwiseKind;

struct StepFeatures {
  // Steps of one group differ in size alone: "convolution_1x1 float32", "eltwise_gelu_erf bfloat16", ...
  std::string group;
  // Logarithms (base 2) of sizes; as many, in the same order, for all steps of a group.
  std::vector<float> point;
  StepCost cost;
  // Groups of the functions that post-ops compute, such as "eltwise_tanh float32"; each meets every element written.
  std::vector<std::string> post_functions = {};
  double elements_written = 0;
  bool by_library = false;  // else by code of ours, which knows tensors in bfloat16 on every CPU
};

const char* NameOf(EltwiseKind kind);

StepFeatures FeaturesOf(const Step& step, const StepTypes& types);

}  // namespace amp
