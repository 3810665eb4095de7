// Attributes that hold the shape of an array without inputs. In files of 1.x a size 0 is one that follows from what
// reads the array (the initial states of an RNN); in those of 2.0 that is -1, and 0 means 0.
#pragma once

#include <algorithm>

#include "nnvm/node.h"
#include "nnvm/shape.h"

namespace amp {

// Throws GraphError for what is no size: what is below `least`.
inline void RequireSizes(const IntTuple& shape, std::int64_t least = kUnknownDim, const char* attribute = "shape") {
  for (const std::int64_t size : shape) {
    if (size < least) Throw<GraphError>("attribute {}: {} is no size", attribute, size);
  }
}

inline Shape OpenShape(IntTuple shape) {
  std::replace(shape.begin(), shape.end(), std::int64_t{0}, kUnknownDim);
  return Shape(std::move(shape));
}

// Where no reader says more.
inline Shape ClosedShape(const Node& node, IntTuple sizes) {
  const Shape shape(std::move(sizes));
  if (!shape.fully_known()) FailAt(node, "nothing that reads the output says what -1 is in shape {}", shape.ToString());
  return shape;
}

}  // namespace amp
