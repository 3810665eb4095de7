// The attributes of Deconvolution.
#pragma once

#include <string>

#include "nnvm/node.h"
#include "nnvm/param.h"

namespace amp {

struct DeconvolutionParam {
  IntTuple kernel, stride, dilate, pad, adj, target_shape;
  std::int64_t num_filter = 0;
  std::int64_t num_group = 1;
  bool no_bias = true;
  std::string layout = "None";
};

ParamSchema<DeconvolutionParam> DeconvolutionSchema();
void ValidateDeconvolution(DeconvolutionParam& p);

// The extent of one axis: what is cut off in front, and the size of the output.
struct DeconvolutionExtent {
  std::int64_t pad, size;
};

DeconvolutionExtent ExtentOf(const Node& node, const DeconvolutionParam& p, int i, std::int64_t in);

}  // namespace amp
