#include "ops/common/axes.h"

#include <algorithm>
#include <cmath>

#include "ops/common/rules.h"

namespace amp {

std::vector<bool> NamedAxes(const Node& node, const std::optional<IntTuple>& axes, int rank, bool numpy) {
  std::vector<bool> named(rank, !axes || (axes->empty() && !numpy));
  for (const std::int64_t axis : axes.value_or(IntTuple())) {
    const auto normal = NormalizeAxis(axis, rank);
    if (!normal) FailAt(node, "axis {} does not exist in data of rank {}", axis, rank);
    named[*normal] = true;
  }
  return named;
}

Shape WithoutAxes(const Shape& data, const std::vector<bool>& named, bool keepdims, bool numpy) {
  std::vector<std::int64_t> dims;
  for (int i = 0; i < data.rank(); ++i) {
    if (!named[i]) dims.push_back(data[i]);
    if (named[i] && keepdims) dims.push_back(1);
  }
  if (dims.empty() && !numpy) dims.push_back(1);
  return Shape(dims);
}

std::int64_t SizeAlong(const Shape& data, const std::vector<bool>& named) {
  std::int64_t size = 1;
  for (int i = 0; i < data.rank(); ++i) size *= named[i] ? data[i] : 1;
  return size;
}

namespace {

// The named axes behind the others.
std::vector<int> RowOrder(const std::vector<bool>& named) {
  std::vector<int> order;
  for (const bool last : {false, true}) {
    for (int i = 0; i < std::ssize(named); ++i) {
      if (named[static_cast<std::size_t>(i)] == last) order.push_back(i);
    }
  }
  return order;
}

}  // namespace

NDArray RowsAlong(const NDArray& data, const std::vector<bool>& named) {
  const std::vector<int> order = RowOrder(named);
  return std::is_sorted(order.begin(), order.end()) ? data : Transposed(data, order);
}

void StoreRowsAlong(const std::vector<double>& rows, const std::vector<bool>& named, NDArray& out) {
  const std::vector<int> order = RowOrder(named);
  std::vector<int> back(order.size());
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < order.size(); ++i) {
    back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    dims.push_back(out.shape()[order[i]]);
  }
  NDArray sorted(out.dtype(), Shape(dims));
  Store(rows, sorted);
  CopyElements(Transposed(sorted, back), out);
}

void StoreResults(const std::vector<double>& values, NDArray& out) {
  if (IsFloat(out.dtype())) return Store(values, out);
  std::vector<std::int64_t> whole;
  for (const double value : values) whole.push_back(std::abs(value) < 0x1p63 ? static_cast<std::int64_t>(value) : 0);
  Store(whole, out);
}

}  // namespace amp
