// NumPy's broadcasting: shapes aligned at their last axes, sizes of 1 repeated.
#pragma once

#include <vector>

#include "nnvm/ndarray.h"
#include "passes/infer.h"

namespace amp {

// `shape` with ones in front, so that it has the given rank.
Shape AlignedRight(const Shape& shape, int rank);

// That of two arrays of the node together. Known sizes other than 1 hold, whatever unknown ones turn out to be. Throws
// GraphError for shapes, of known rank, that cannot be broadcast to one.
Shape BroadcastOf(const Node& node, const Shape& first, const Shape& second);

// The rule of an operator with two inputs and one output.
ShapeRule BroadcastShape();

// Walks the elements of `out` in row-major order and gives the element of `in` that belongs to each.
class BroadcastIndex {
 public:
  BroadcastIndex(const Shape& in, const Shape& out);
  std::size_t Next();

 private:
  std::vector<std::int64_t> sizes_, strides_, position_;
  std::int64_t offset_ = 0;
};

// The elements of `from` (same dtype) repeated to the shape of `to`.
void BroadcastElements(const NDArray& from, NDArray& to);

}  // namespace amp
