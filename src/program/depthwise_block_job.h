// Depthwise convolutions that our own kernel computes together with the 1x1 convolutions around them, as it sees them.
#pragma once

#include <optional>

#include "kernels/depthwise_block.h"
#include "program/step.h"

namespace amp {

// Places of the operands among the inputs of a step.
struct DepthwiseBlockPlaces {
  std::optional<std::size_t> expand_weights, expand_bias, bias, project_bias;
  std::size_t weights = 1, project_weights = 2;
};
DepthwiseBlockPlaces PlacesOf(const DepthwiseBlockSpec& spec);

// The step that computes a depthwise convolution and the 1x1 convolution that reads it; nothing where the kernel
// cannot: other windows, dtypes or post-ops. `spec.multiplies` is float32.
std::optional<Step> BlockOf(const Step& depthwise, const StepTypes& depthwise_types, const Step& project,
                            const StepTypes& project_types);
// The same with the 1x1 convolution before it.
std::optional<Step> ExpandingBlockOf(const Step& expand, const StepTypes& expand_types, const Step& block);

// Sizes, without strides of memory.
kernels::DepthwiseBlock DepthwiseBlockJob(const DepthwiseBlockSpec& spec, const StepTypes& types);

}  // namespace amp
