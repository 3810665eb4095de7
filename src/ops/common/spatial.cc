#include "ops/common/spatial.h"

#include <algorithm>

namespace amp {

std::vector<int> SpatialLayout::ToChannelsFirst() const {
  std::vector<int> axes{0, num_spatial + 1};
  for (int i = 0; i < num_spatial; ++i) axes.push_back(i + 1);
  return axes;
}

std::vector<int> SpatialLayout::FromChannelsFirst() const {
  std::vector<int> axes{0};
  for (int i = 0; i < num_spatial; ++i) axes.push_back(i + 2);
  axes.push_back(1);
  return axes;
}

std::vector<std::string> LayoutWords() { return {"None", "NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"}; }

SpatialLayout ParseLayout(const std::string& layout, std::size_t num_spatial) {
  const SpatialLayout parsed{static_cast<int>(num_spatial), layout != "None" && layout.back() == 'C'};
  if (layout != "None" && layout.size() != num_spatial + 2) {
    Throw<GraphError>("attribute layout: {} does not fit a kernel with {} axes", layout, num_spatial);
  }
  return parsed;
}

void FillTuple(IntTuple* tuple, std::size_t num_spatial, std::int64_t fallback, std::int64_t low, const char* name) {
  constexpr std::int64_t kHigh = 1 << 20;  // keeps every product of sizes far from overflow
  if (tuple->empty()) tuple->assign(num_spatial, fallback);
  if (tuple->size() != num_spatial) {
    Throw<GraphError>("attribute {}: expected {} values, one for each axis of the kernel, got {}", name, num_spatial,
                      tuple->size());
  }
  for (const std::int64_t value : *tuple) {
    if (value < low || value > kHigh) {
      Throw<GraphError>("attribute {}: expected values in [{}, {}], got {}", name, low, kHigh, value);
    }
  }
}

void FillWindow(IntTuple* kernel, IntTuple* stride, IntTuple* dilate, IntTuple* pad) {
  const std::size_t n = kernel->size();
  if (n < 1 || n > 3) Throw<GraphError>("attribute kernel: expected one to three values, got {}", n);
  FillTuple(kernel, n, 1, 1, "kernel");
  std::replace(stride->begin(), stride->end(), std::int64_t{0}, std::int64_t{1});
  std::replace(dilate->begin(), dilate->end(), std::int64_t{0}, std::int64_t{1});
  FillTuple(stride, n, 1, 1, "stride");
  FillTuple(dilate, n, 1, 1, "dilate");
  FillTuple(pad, n, 0, 0, "pad");
}

void CheckFilters(std::int64_t num_filter, std::int64_t num_group) {
  if (num_filter % num_group != 0) {
    Throw<GraphError>("num_filter {} is not a multiple of num_group {}", num_filter, num_group);
  }
}

std::array<std::int64_t, 3> Spatial3(const Shape& shape) {
  std::array<std::int64_t, 3> sizes{1, 1, 1};
  const int num_spatial = shape.rank() - 2;
  for (int i = 0; i < num_spatial; ++i) sizes[3 - num_spatial + i] = shape[2 + i];
  return sizes;
}

std::array<std::int64_t, 3> Tuple3(const IntTuple& tuple, std::int64_t fill) {
  std::array<std::int64_t, 3> values{fill, fill, fill};
  for (std::size_t i = 0; i < tuple.size(); ++i) values[3 - tuple.size() + i] = tuple[i];
  return values;
}

}  // namespace amp
