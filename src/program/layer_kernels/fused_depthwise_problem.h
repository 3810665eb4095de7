// Depthwise convolutions that our own kernel computes together with the 1x1 convolutions around them, as it sees them.
#pragma once

#include <optional>

#include "kernels/depthwise/fused_depthwise.h"
#include "program/step.h"

namespace amp {

// Places of the operands among the inputs: source, [weights of the expansion, [bias]], depthwise weights, [bias],
// weights of the projection, [bias], and what the projection adds.
struct FusedDepthwisePlaces {
  std::optional<std::size_t> expand_weights, expand_bias, bias, project_bias, sum;
  std::size_t weights = 1, project_weights = 2;
};

// A depthwise convolution with the 1x1 convolution behind it and, where it expands, the one in front of it.
struct FusedDepthwiseLayer {
  kernels::FusedDepthwise job;  // without strides of memory
  FusedDepthwisePlaces places;
  std::vector<ValueId> inputs;
};

// nullopt where the kernel cannot compute them: other windows, dtypes or post-ops.
std::optional<FusedDepthwiseLayer> BlockOf(const Step& depthwise, const StepTypes& depthwise_types, const Step& project,
                                           const StepTypes& project_types, DType dtype);
// The block with the 1x1 convolution before it.
std::optional<FusedDepthwiseLayer> ExpandingBlockOf(const Step& expand, const StepTypes& expand_types,
                                                    const FusedDepthwiseLayer& block);

// The number of multiplications and additions that take as long as the kernel.
double FusedDepthwiseFlops(const kernels::FusedDepthwise& job);

}  // namespace amp
