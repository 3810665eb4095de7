#include "program/rounding_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/threads/parallel.h"
#include "program/cast_arrays.h"

namespace amp {
namespace {

// What is known of some elements.
struct Part {
  float smallest = std::numeric_limits<float>::infinity(), largest = 0;
  bool is_exact = true;
  double errors = 0, elements = 0;  // sums of squares
};

Part PartOf(const float* before, const float* after, std::int64_t count) {
  Part part;
  for (std::int64_t i = 0; i < count; ++i) {
    const float size = std::abs(before[i]);
    if (size > 0 && std::isfinite(size)) {
      part.smallest = std::min(part.smallest, size);
      part.largest = std::max(part.largest, size);
    }
    const bool is_same = before[i] == after[i] || (std::isnan(before[i]) && std::isnan(after[i]));
    const double change = double{after[i]} - before[i];
    part.is_exact = part.is_exact && is_same;
    part.errors += change * change;
    part.elements += double{before[i]} * before[i];
  }
  return part;
}

}  // namespace

RoundingErrors RoundingErrorsOf(const NDArray& before, const NDArray& after) {
  const NDArray b = CastArray(before, DType::kFloat32), a = CastArray(after, DType::kFloat32);
  const std::int64_t rows = b.shape().rank() < 2 ? 1 : b.shape()[0], size = b.size() / rows;
  std::vector<Part> parts(static_cast<std::size_t>(rows));
  kernels::ParallelFor(rows, 1, [&](std::int64_t row) {
    parts[static_cast<std::size_t>(row)] = PartOf(b.As<float>() + row * size, a.As<float>() + row * size, size);
  });
  RoundingErrors found;
  float smallest = std::numeric_limits<float>::infinity();
  for (const Part& part : parts) {
    smallest = std::min(smallest, part.smallest);
    found.largest = std::max(found.largest, part.largest);
    found.is_exact = found.is_exact && part.is_exact;
    found.errors.push_back(part.errors / static_cast<double>(size));
    found.elements.push_back(part.elements / static_cast<double>(size));
  }
  if (found.largest > 0) found.smallest = smallest;
  return found;
}

}  // namespace amp
