// What convolution and pooling share: the layout attribute and windows that slide over one to three spatial axes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "nnvm/ndarray.h"
#include "nnvm/node.h"

namespace amp {

// Where batch, channel and spatial axes are in an array.
struct SpatialLayout {
  int num_spatial = 2;
  bool channels_last = false;

  int rank() const { return num_spatial + 2; }
  int channel_axis() const { return channels_last ? num_spatial + 1 : 1; }
  int spatial_axis(int i) const { return channels_last ? i + 1 : i + 2; }
  // For Permute: axes that bring an array of this layout to channels-first, and back.
  std::vector<int> ToChannelsFirst() const;
  std::vector<int> FromChannelsFirst() const;
};

// `layout` is the attribute's text ("None": channels first). Throws GraphError for one of another rank.
SpatialLayout ParseLayout(const std::string& layout, std::size_t num_spatial);

// The words that the layout attribute may be.
std::vector<std::string> LayoutWords();

// An empty tuple becomes `num_spatial` times `fallback`. Throws GraphError for another length or values below `low`.
void FillTuple(IntTuple* tuple, std::size_t num_spatial, std::int64_t fallback, std::int64_t low, const char* name);

// The attributes of a window over one to three axes: what is not given is 1, or 0 of `pad`.
void FillWindow(IntTuple* kernel, IntTuple* stride, IntTuple* dilate, IntTuple* pad);
void CheckFilters(std::int64_t num_filter, std::int64_t num_group);

// A channels-first array's spatial sizes as three numbers, ones in front.
std::array<std::int64_t, 3> Spatial3(const Shape& channels_first);
std::array<std::int64_t, 3> Tuple3(const IntTuple& tuple, std::int64_t fill);

}  // namespace amp
