// Statistics over named axes: which axes those are, the output's shape, and the data as rows, one for each result.
#pragma once

#include <optional>
#include <vector>

#include "kernels/threads/parallel.h"
#include "nnvm/ndarray.h"
#include "nnvm/node.h"
#include "ops/common/numeric.h"

namespace amp {

// Says for each axis whether it is named. None names all; () names all in the classic operators and none in NumPy's.
std::vector<bool> NamedAxes(const Node& node, const std::optional<IntTuple>& axes, int rank, bool numpy);

// `data` without the named axes, or with size 1 there. Where none is left, the classic operators give shape (1,).
Shape WithoutAxes(const Shape& data, const std::vector<bool>& named, bool keepdims, bool numpy);

// Number of elements along the named axes.
std::int64_t SizeAlong(const Shape& data, const std::vector<bool>& named);

// The elements along the named axes side by side, in order: an array of the same dtype and size.
NDArray RowsAlong(const NDArray& data, const std::vector<bool>& named);

// The inverse: elements that lie as RowsAlong has them, to their places in `out`.
void StoreRowsAlong(const std::vector<double>& rows, const std::vector<bool>& named, NDArray& out);

// Stores results that were computed as double. Integers truncate; what does not fit wraps, as sums of integers do.
void StoreResults(const std::vector<double>& values, NDArray& out);

// Calls f(index of the result, first element, size) with the elements that each result is of, as T.
template <class T, class F>
void ForEachRow(const NDArray& data, const std::vector<bool>& named, F&& f) {
  const std::int64_t size = SizeAlong(data.shape(), named);
  const std::vector<T> x = Numbers<T>(RowsAlong(data, named));
  const std::int64_t count = WithoutAxes(data.shape(), named, false, true).size();
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, size));
  kernels::ParallelFor(count, grain, [&](std::int64_t i) { f(i, x.data() + i * size, size); });
}

}  // namespace amp
