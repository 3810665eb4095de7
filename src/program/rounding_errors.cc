#include "program/rounding_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/threads/parallel.h"
#include "program/cast_arrays.h"

namespace amp {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// What is known of some elements.
struct Part {
  double smallest = kInfinite, largest = 0;
  bool is_exact = true;
  double errors = 0, elements = 0;  // sums of squares

  void Add(double before, double after) {
    const double size = std::abs(before);
    if (size > 0 && std::isfinite(size)) {
      smallest = std::min(smallest, size);
      largest = std::max(largest, size);
      elements += size * size;
    }
    if (before == after || (std::isnan(before) && std::isnan(after))) return;
    is_exact = false;
    const double change = after - before;
    errors += std::isnan(change) ? kInfinite : change * change;
  }
};

template <class T>
Part PartOf(const T* before, const T* after, std::int64_t count) {
  Part part;
  for (std::int64_t i = 0; i < count; ++i) part.Add(before[i], after[i]);
  return part;
}

// Parts by index of axis 0.
template <class T>
std::vector<Part> ErrorsByRow(const NDArray& before, const NDArray& after, std::int64_t rows) {
  const std::int64_t size = before.size() / rows;
  std::vector<Part> parts(static_cast<std::size_t>(rows));
  kernels::ParallelFor(rows, 1, [&](std::int64_t row) {
    parts[static_cast<std::size_t>(row)] = PartOf(before.As<T>() + row * size, after.As<T>() + row * size, size);
  });
  return parts;
}

}  // namespace

RoundingErrors RoundingErrorsOf(const NDArray& before, const NDArray& after) {
  const bool is_wide = before.dtype() == DType::kFloat64 || after.dtype() == DType::kFloat64;
  const DType dtype = is_wide ? DType::kFloat64 : DType::kFloat32;
  const NDArray b = CastArray(before, dtype), a = CastArray(after, dtype);
  const std::int64_t rows = b.shape().rank() < 2 ? 1 : b.shape()[0];
  const double size = static_cast<double>(b.size() / rows);
  RoundingErrors found;
  double smallest = kInfinite;
  for (const Part& part : is_wide ? ErrorsByRow<double>(b, a, rows) : ErrorsByRow<float>(b, a, rows)) {
    smallest = std::min(smallest, part.smallest);
    found.largest = std::max(found.largest, part.largest);
    found.is_exact = found.is_exact && part.is_exact;
    found.errors.push_back(part.errors / size);
    found.elements.push_back(part.elements / size);
  }
  if (found.largest > 0) found.smallest = smallest;
  return found;
}

}  // namespace amp
