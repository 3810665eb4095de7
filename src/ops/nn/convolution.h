// The attributes of Convolution.
#pragma once

#include "nnvm/param.h"
#include "ops/common/spatial.h"
#include "passes/gradient/gradient_rule.h"

namespace amp {

struct ConvolutionParam {
  IntTuple kernel, stride, dilate, pad;
  std::int64_t num_filter = 0;
  std::int64_t num_group = 1;
  bool no_bias = false;
  std::string layout = "None";

  SpatialLayout parsed_layout() const { return ParseLayout(layout, kernel.size()); }
};

ParamSchema<ConvolutionParam> ConvolutionSchema();
void ValidateConvolution(ConvolutionParam& p);

// The gradients of data, weight and perhaps bias, by the backward operators of the operator `name`.
void SetWindowGradients(GradientContext& c, const std::string& name, int channel_axis);

}  // namespace amp
