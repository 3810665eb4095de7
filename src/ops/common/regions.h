// What operators on regions of feature maps share: data (N, C, H, W) and regions (image, left, top, right, bottom).
#pragma once

#include "ops/common/rules.h"

namespace amp {

// Height and width of the output. Throws GraphError.
void CheckPooledSize(const IntTuple& size);

// The result has the dtype of the data; so do regions whose dtype is not known.
void InferRegionDTypes(DTypeRelation& r);

// Infers the gradient of the data, whose inputs are (gradient, data, regions): the data lend their shape, and `forward`
// is the operator's rule.
void InferRegionGradient(ShapeRelation& r, void (*forward)(ShapeRelation&));
void InferRegionGradientDTypes(DTypeRelation& r);

// A sample of a feature map, by bilinear interpolation; 0 beyond one pixel outside.
float SampleOfMap(const float* image, std::int64_t height, std::int64_t width, float y, float x);

}  // namespace amp
