#include "dnnl/channel_rows.h"

namespace amp::onednn {
namespace {

using Dims = dnnl::memory::dims;

std::int64_t NumPositions(const Dims& dims) {
  std::int64_t count = 1;
  for (std::size_t i = 2; i < dims.size(); ++i) count *= dims[i];
  return count;
}

// The distance of neighbouring positions, if all positions lie at equal distances in row-major order.
std::optional<std::int64_t> PositionStride(const Dims& dims, const Dims& strides) {
  std::optional<std::int64_t> first;
  std::int64_t expected = 0;
  for (std::size_t i = dims.size(); i-- > 2;) {
    if (dims[i] == 1) continue;
    if (!first) first = expected = strides[i];
    if (strides[i] != expected) return std::nullopt;
    expected *= dims[i];
  }
  return first.value_or(0);
}

bool IsBlocked16(const Desc& desc) {
  return desc.get_inner_nblks() == 1 && desc.get_inner_idxs()[0] == 1 && desc.get_inner_blks()[0] == 16;
}

}  // namespace

std::optional<ChannelRows> ChannelRowsOf(const Desc& desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked || desc.get_ndims() < 2) return std::nullopt;
  const Dims dims = desc.get_dims(), strides = desc.get_strides();
  const auto stride = PositionStride(dims, strides);
  if (!stride) return std::nullopt;
  ChannelRows rows;
  rows.num_batch = dims[0];
  rows.batch = strides[0];
  const std::int64_t positions = NumPositions(dims);
  if (IsBlocked16(desc) && dims[1] % 16 == 0 && (positions == 1 || *stride == 16)) {
    rows.num_blocks = dims[1] / 16;
    rows.block = strides[1];
    rows.num_rows = positions;
    rows.row = 16;
    rows.row_length = 16;
    return rows;
  }
  if (desc.get_inner_nblks() != 0) return std::nullopt;
  if (strides[1] == 1 && dims[1] > 1) {
    rows.num_rows = positions;
    rows.row = *stride;
    rows.row_length = dims[1];
    return rows;
  }
  if (positions != 1 && *stride != 1) return std::nullopt;
  rows.planes = true;
  rows.num_blocks = dims[1];
  rows.block = strides[1];
  rows.row_length = positions;
  return rows;
}

bool HaveSameRows(const Desc& a, const Desc& b) {
  const auto x = ChannelRowsOf(a), y = ChannelRowsOf(b);
  return x && y && x->planes == y->planes && x->num_batch == y->num_batch && x->num_blocks == y->num_blocks &&
         x->num_rows == y->num_rows && x->row_length == y->row_length;
}

Desc DenseCopy(const Desc& desc, const TensorType& type) {
  if (desc.get_inner_nblks() == 0) return DenseLike(desc, type);
  const Desc same = WithDType(desc, type.dtype);
  return same.is_zero() ? PlainDesc(type) : same;
}

}  // namespace amp::onednn
