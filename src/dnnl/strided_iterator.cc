#include "dnnl/strided_iterator.h"

#include <algorithm>

namespace amp::onednn {
namespace {

using Dims = dnnl::memory::dims;

// A layout whose axes have a stride, or a stride between blocks of neighbours.
struct Blocked {
  Dims dims, strides;  // of blocks, where there are any
  Dims blocks;         // 1: none
};

// Neighbours that do not fill the only block there is.
bool IsPartOfBlock(const Desc& desc, std::size_t axis) {
  Dims dims = desc.get_dims();
  dims[axis] = desc.get_inner_blks()[0];
  return dims == desc.get_padded_dims();
}

// What is written has no padding, which would have to become zero.
std::optional<Blocked> BlockedOf(const Desc& desc, bool is_written) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked || desc.get_inner_nblks() > 1) return std::nullopt;
  Blocked result{desc.get_dims(), desc.get_strides(), Dims(desc.get_dims().size(), 1)};
  const bool is_padded = desc.get_dims() != desc.get_padded_dims();
  if (desc.get_inner_nblks() == 0) return is_padded ? std::nullopt : std::optional(result);
  const auto axis = static_cast<std::size_t>(desc.get_inner_idxs()[0]);
  if (!is_padded) {
    result.blocks[axis] = desc.get_inner_blks()[0];
  } else if (!is_written && IsPartOfBlock(desc, axis)) {
    result.strides[axis] = 1;
  } else {
    return std::nullopt;
  }
  return result;
}

// The strides of a block, and within it, where the axis is counted in blocks of `block`.
std::pair<std::int64_t, std::int64_t> Strides(const Blocked& layout, std::size_t axis, std::int64_t block) {
  const std::int64_t stride = layout.strides[axis];
  return layout.blocks[axis] == 1 ? std::pair(block * stride, stride) : std::pair(stride, std::int64_t{1});
}

}  // namespace

std::optional<std::vector<kernels::MapAxis>> WalkTogether(const std::vector<Desc>& layouts) {
  std::vector<Blocked> all;
  for (const Desc& layout : layouts) {
    const auto blocked = BlockedOf(layout, all.empty());
    if (!blocked || blocked->dims.size() != layouts[0].get_dims().size()) return std::nullopt;
    all.push_back(*blocked);
  }
  std::vector<kernels::MapAxis> axes;
  for (std::size_t axis = 0; axis < all[0].dims.size(); ++axis) {
    const std::int64_t size = all[0].dims[axis];
    std::int64_t block = 1;
    for (const Blocked& layout : all) block = std::max(block, layout.dims[axis] == size ? layout.blocks[axis] : 1);
    kernels::MapAxis outer{size / block, {}}, inner{block, {}};
    for (const Blocked& layout : all) {
      const bool repeats = layout.dims[axis] != size;
      const bool fits = repeats || layout.blocks[axis] == block || layout.blocks[axis] == 1;
      if (!fits || size % block != 0) return std::nullopt;
      const auto [of_block, within] = repeats ? std::pair<std::int64_t, std::int64_t>() : Strides(layout, axis, block);
      outer.strides.push_back(of_block);
      inner.strides.push_back(within);
    }
    for (const kernels::MapAxis& one : {outer, inner}) {
      if (one.size != 1) axes.push_back(one);
    }
  }
  std::stable_sort(axes.begin(), axes.end(), [](const auto& a, const auto& b) { return a.strides[0] > b.strides[0]; });
  return axes;
}

}  // namespace amp::onednn
