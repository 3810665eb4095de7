// What our own kernels of layers do with their sums before they write them.
#pragma once

#include <optional>
#include <vector>

#include "program/step.h"

namespace amp {

// In this order; operands are places among the step's inputs.
struct Epilogue {
  std::optional<std::size_t> sum;      // a tensor of the result's shape, which is added
  std::optional<std::size_t> slopes;   // of channels, of a leaky ReLU; without functions and bounds
  std::vector<EltwiseSpec> functions;  // one after the other
  float low = 0, high = 0;             // to which the result is clipped

  // Neither slopes, functions nor a sum.
  bool OnlyClips() const { return !sum && !slopes && functions.empty(); }
};

// Nothing where the post-ops are others, or have another order.
std::optional<Epilogue> EpilogueOf(const Step& step, const StepTypes& types);

// A kernel that knows no functions but a leaky ReLU.
struct LinearEpilogue {
  bool is_leaky = false;
  float negative_slope = 0;  // of all channels, where there are no slopes
};
std::optional<LinearEpilogue> LinearEpilogueOf(const Epilogue& epilogue);

// Whether all strides, dilations or pads, one per axis, are `value`.
bool AreAll(const IntTuple& values, std::int64_t value);

// Whether the inputs of a convolution, deconvolution or dense layer have a bias before the operands of post-ops.
bool HasBias(const Step& step);

// The dtypes that the kernels know, source, weights, bias and result.
bool HasKernelTypes(const Step& step, const StepTypes& types);

}  // namespace amp
