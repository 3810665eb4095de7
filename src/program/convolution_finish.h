// What our own kernels of convolutions do with their sums.
#pragma once

#include <optional>
#include <vector>

#include "program/step.h"

namespace amp {

// What results that are not greater than zero are multiplied by: one number, or the place of those of channels among
// the step's inputs.
struct NegativeSlope {
  float all = 0;
  std::optional<std::size_t> of_channels;
};

struct ConvolutionFinish {
  std::optional<std::size_t> sum;          // the place of the image that is added, among the step's inputs
  float low = 0, high = 0;                 // to which the result is clipped
  std::optional<NegativeSlope> bend = {};  // instead
};

// Nothing where the kernels do not know the post-ops: they add an image and then clip, or bend.
std::optional<ConvolutionFinish> FinishOf(const Step& step, const StepTypes& types);

// What our matrix product does, in this order.
struct ProductFinish {
  std::optional<std::size_t> sum;           // as above
  std::optional<std::size_t> slopes;        // of channels, without functions and bounds
  std::vector<kernels::MapStep> functions;  // see kernels::ApplyMapSteps
  float low = 0, high = 0;                  // as above
};

std::optional<ProductFinish> ProductFinishOf(const Step& step, const StepTypes& types);

// Of strides, gaps and pads, one per axis.
bool AreAll(const IntTuple& values, std::int64_t value);

// Whether the inputs have a bias before the operands of post-ops.
bool HasBias(const Step& step);

// The dtypes that the kernels know, source, weights, bias and result.
bool HasKernelTypes(const Step& step, const StepTypes& types);

}  // namespace amp
