// Axes in another order: axis i of the result is axis axes[i] of what it is made of.
#pragma once

#include <utility>
#include <vector>

#include "nnvm/shape.h"

namespace amp {

inline Shape PermutedShape(const Shape& shape, const std::vector<int>& axes) {
  std::vector<std::int64_t> dims;
  for (const int axis : axes) dims.push_back(shape[axis]);
  return Shape(std::move(dims));
}

inline std::vector<int> InversePermutation(const std::vector<int>& axes) {
  std::vector<int> inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) inverse[static_cast<std::size_t>(axes[i])] = static_cast<int>(i);
  return inverse;
}

}  // namespace amp
