#include "dnnl/strided_copy.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace amp::onednn {
namespace {

using Dims = dnnl::memory::dims;

// A layout whose axes have a stride, or a stride between blocks of neighbours.
struct Blocked {
  Dims strides;  // of blocks, where there are any
  Dims blocks;   // 1: none
};

std::optional<Blocked> BlockedOf(const Desc& desc) {
  const bool is_plain = desc.get_data_type() == dnnl::memory::data_type::bf16 &&
                        desc.get_format_kind() == dnnl::memory::format_kind::blocked && desc.get_inner_nblks() <= 1 &&
                        desc.get_dims() == desc.get_padded_dims();
  if (!is_plain) return std::nullopt;
  Blocked result{desc.get_strides(), Dims(desc.get_dims().size(), 1)};
  if (desc.get_inner_nblks() == 1) {
    result.blocks[static_cast<std::size_t>(desc.get_inner_idxs()[0])] = desc.get_inner_blks()[0];
  }
  return result;
}

// Of a block, and within it, where the axis counts in blocks of `block`.
std::pair<std::int64_t, std::int64_t> Strides(const Blocked& layout, std::size_t axis, std::int64_t block) {
  const std::int64_t stride = layout.strides[axis];
  return layout.blocks[axis] == 1 ? std::pair(block * stride, stride) : std::pair(stride, std::int64_t{1});
}

}  // namespace

std::optional<kernels::StridedCopy> StridedCopyOf(const Desc& from, const Desc& to) {
  const std::optional<Blocked> in = BlockedOf(from), out = BlockedOf(to);
  if (!in || !out || from.get_dims() != to.get_dims()) return std::nullopt;
  kernels::StridedCopy copy;
  const Dims dims = from.get_dims();
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const std::int64_t a = in->blocks[axis], b = out->blocks[axis], block = std::max(a, b);
    if ((a != b && std::min(a, b) != 1) || dims[axis] % block != 0) return std::nullopt;
    const auto [from_block, from_within] = Strides(*in, axis, block);
    const auto [to_block, to_within] = Strides(*out, axis, block);
    copy.AddAxis(dims[axis] / block, from_block, to_block);
    copy.AddAxis(block, from_within, to_within);
  }
  copy.Prepare();
  return copy;
}

bool KeepsBits(const PreparedPrimitive& reorder) {
  const auto type = dnnl::memory::data_type::bf16;
  return reorder.inputs[0].get_data_type() != type || reorder.outputs[0].get_data_type() != type ||
         reorder.implementation.find("jit") != std::string::npos;
}

}  // namespace amp::onednn
