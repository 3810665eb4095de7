// What a card states about where the elements of its output 0 come from. Facts of data movement and of windows; passes
// that move operators past each other go by them.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "nnvm/node.h"

namespace amp {

// Output 0 is input 0.
struct IsIdentity {
  std::function<bool(const Node&)> holds = nullptr;  // absent: always
};

// Output 0 holds the elements of input 0 in their order, under a shape of its own; other inputs are there for their
// shapes alone.
struct IsView {
  bool flattens = false;  // whatever the data's shape: the first axis stays, all others become one
};

// Axis i of output 0 is axis result[i] of input 0.
struct PermutesAxes {
  std::function<std::vector<int>(const Node&, int rank)> axes;
};

// An element of output 0 depends on the elements of the inputs in its own place. Inputs of another shape are broadcast
// as NumPy does it; those with the role of statistics have one value (or a single one at all) for each position of
// `statistics_axis` of the data.
struct IsPointwise {
  std::function<int(const Node&, int rank)> statistics_axis = nullptr;  // absent: 1
};

// The window of input 0 that an element of output 0 depends on. Along spatial axis i it begins at
// position * stride[i] - pad[i], and there are floor((size + 2 pad - reach) / stride) + 1 of them, where the reach does
// not depend on the stride.
struct SlidingWindow {
  int first_axis = 2;  // of the spatial axes, which follow each other
  IntTuple kernel, stride, pad;
};

// Its stride may be changed, by way of the attribute `stride`.
struct HasWindow {
  std::function<std::optional<SlidingWindow>(const Node&)> window;  // nullopt: the node is none of that kind
};

}  // namespace amp
