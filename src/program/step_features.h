// What the time of a step depends on: which measured steps are like it, and where it lies among them.
#pragma once

#include <optional>
#include <vector>

#include "nnvm/attr_text.h"
#include "program/sample_key.h"
#include "program/step_cost.h"

namespace amp {

enum class EltwiseKind;

struct StepFeatures {
  SampleKey key;
  // Logarithms (base 2) of sizes; as many, in the same order, for all steps of a key.
  std::vector<float> point;
  StepCost cost;
  // The functions that post-ops compute; each meets every element written.
  std::vector<SampleKey> post_functions = {};
  double elements_written = 0;
  bool by_onednn = false;  // else by own code, which knows tensors in bfloat16 on every CPU
  // Whose samples stand in where there are none of the key.
  std::optional<SampleKey> fallback = {};
};

const char* NameOf(EltwiseKind kind);

// The key of a step that computes the function in float32, and nothing else.
SampleKey FunctionKey(EltwiseKind kind);

StepFeatures FeaturesOf(const Step& step, const StepTypes& types);

// ---- points of layers ----

// Logarithm (base 2) of a size; of less than 1 it is that of 1.
float Log2Of(double size);
// The point of a layer with windows. `tensor` is what each weight meets element by element: a convolution's result, a
// deconvolution's source.
std::vector<float> WindowFeatures(const StepTypes& types, const TensorType& tensor, const IntTuple& strides);
std::vector<float> DenseFeatures(const StepTypes& types);

}  // namespace amp
