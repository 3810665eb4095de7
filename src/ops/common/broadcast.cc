#include "ops/common/broadcast.h"

#include <algorithm>
#include <cstring>

namespace amp {

Shape AlignedRight(const Shape& shape, int rank) {
  std::vector<std::int64_t> dims(rank - shape.rank(), 1);
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return Shape(dims);
}

Shape BroadcastOf(const Node& node, const Shape& first, const Shape& second) {
  const int rank = std::max(first.rank(), second.rank());
  const Shape a = AlignedRight(first, rank), b = AlignedRight(second, rank);
  Shape out = Shape::OfRank(rank);
  for (int i = 0; i < rank; ++i) {
    const bool clash = a[i] >= 0 && b[i] >= 0 && a[i] != b[i] && a[i] != 1 && b[i] != 1;
    if (clash) FailAt(node, "shapes {} and {} cannot be broadcast to one", first.ToString(), second.ToString());
    // A known size other than 1 is that of the output, whatever the other one turns out to be.
    if (a[i] == 1) {
      out[i] = b[i];
    } else {
      out[i] = b[i] == 1 || a[i] >= 0 ? a[i] : b[i];
    }
  }
  return out;
}

ShapeRule BroadcastShape() {
  return {[](ShapeRelation& r) {
    if (r.in(0).rank_known() && r.in(1).rank_known()) r.Out(0, BroadcastOf(r.node(), r.in(0), r.in(1)));
  }};
}

BroadcastIndex::BroadcastIndex(const Shape& in, const Shape& out)
    : sizes_(out.dims()), strides_(sizes_.size()), position_(sizes_.size()) {
  const Shape aligned = AlignedRight(in, out.rank());
  std::int64_t stride = 1;
  for (int i = out.rank(); i-- > 0;) {
    strides_[i] = aligned[i] == 1 ? 0 : stride;
    stride *= aligned[i];
  }
}

std::size_t BroadcastIndex::Next() {
  const std::int64_t current = offset_;
  for (std::size_t i = sizes_.size(); i-- > 0;) {
    offset_ += strides_[i];
    if (++position_[i] < sizes_[i]) break;
    offset_ -= strides_[i] * sizes_[i];
    position_[i] = 0;
  }
  return static_cast<std::size_t>(current);
}

void BroadcastElements(const NDArray& from, NDArray& to) {
  BroadcastIndex index(from.shape(), to.shape());
  const auto bytes = static_cast<std::size_t>(BytesOf(from.dtype()));
  for (std::int64_t i = 0; i < to.size(); ++i) {
    std::memcpy(to.As<char>() + i * bytes, from.As<char>() + index.Next() * bytes, bytes);
  }
}

}  // namespace amp
