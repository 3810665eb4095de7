// What rounding did to an array.
#pragma once

#include <vector>

#include "nnvm/ndarray.h"

namespace amp {

struct RoundingErrors {
  float smallest = 0, largest = 0;       // finite magnitudes other than 0; 0 where there are none
  bool is_exact = true;                  // no element changed; NaN stays NaN
  std::vector<double> errors, elements;  // mean squares of changes and of elements, by index of axis 0
};

// `before` and `after` have one shape, with elements, and any float dtypes.
RoundingErrors RoundingErrorsOf(const NDArray& before, const NDArray& after);

}  // namespace amp
