// What rounding did to an array.
#pragma once

#include <vector>

#include "nnvm/ndarray.h"

namespace amp {

struct RoundingErrors {
  double smallest = 0, largest = 0;  // finite magnitudes other than 0; 0 where there are none
  bool is_exact = true;              // no element changed; NaN stays NaN
  // Mean squares of changes and of elements, by index of axis 0; one for an array of one axis or none. Elements that
  // are infinite or NaN count as 0 in both, but one that changed has an infinite error.
  std::vector<double> errors, elements;
};

// `before` and `after` have one shape, with elements, and any float dtypes.
RoundingErrors RoundingErrorsOf(const NDArray& before, const NDArray& after);

}  // namespace amp
