// What is known of an output's shape where sizes of the data are not known yet.
#pragma once

#include <utility>

#include "nnvm/error.h"
#include "passes/infer.h"

namespace amp {

// `data` with the unknown sizes at `size`, twice that, three times.
inline Shape WithUnknownAt(Shape data, std::int64_t size) {
  std::int64_t next = size;
  for (int i = 0; i < data.rank(); ++i) {
    if (data[i] < 0) data[i] = std::exchange(next, next + size);
  }
  return data;
}

// Two sizes that are one: an unknown one is the other.
inline void Agree(std::int64_t* a, std::int64_t* b) {
  if (*a < 0) *a = *b;
  if (*b < 0) *b = *a;
}

// `shape_of` gives the output's shape for a known one of the data. Sizes that are the same for small and for large
// unknown ones are known; where the two do not fit, nothing is.
template <class F>
Shape PartialShape(const Shape& data, F&& shape_of, std::int64_t small = 5040) {
  if (!data.rank_known()) return Shape();
  if (data.fully_known()) return shape_of(data);
  try {
    Shape of_small = shape_of(WithUnknownAt(data, small));
    const Shape of_large = shape_of(WithUnknownAt(data, 10080));
    if (of_small.rank() != of_large.rank()) return Shape();
    for (int i = 0; i < of_small.rank(); ++i) {
      if (of_small[i] != of_large[i]) of_small[i] = kUnknownDim;
    }
    return of_small;
  } catch (const GraphError&) {
    return Shape();  // what does not fit is said once the sizes are known
  }
}

}  // namespace amp
