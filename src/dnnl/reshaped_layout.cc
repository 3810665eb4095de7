#include "dnnl/reshaped_layout.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "nnvm/error.h"

namespace amp::onednn {
namespace {

using Dims = dnnl::memory::dims;

// Axes [begin, end) of one tensor are as many elements as [out_begin, out_end) of the other.
struct AxisGroup {
  std::size_t begin, end, out_begin, out_end;
};

// The smallest such groups, in order. Both tensors have the same number of elements, which is not 0.
std::vector<AxisGroup> GroupsOf(const Dims& dims, const Dims& out) {
  std::vector<AxisGroup> groups;
  std::size_t i = 0, o = 0;
  while (i < dims.size() || o < out.size()) {
    AxisGroup group{i, i, o, o};
    dnnl::memory::dim elements = 1, out_elements = 1;
    do {
      const bool takes_input = i < dims.size() && (elements <= out_elements || o == out.size());
      takes_input ? elements *= dims[i++] : out_elements *= out[o++];
    } while (elements != out_elements);
    group.end = i;
    group.out_end = o;
    groups.push_back(group);
  }
  return groups;
}

// The smallest step between elements of the group; sizes of 1 do not matter.
dnnl::memory::dim SmallestStride(const AxisGroup& group, const Dims& dims, const Dims& strides) {
  dnnl::memory::dim smallest = 0;
  for (std::size_t i = group.begin; i < group.end; ++i) {
    if (dims[i] != 1 && (smallest == 0 || strides[i] < smallest)) smallest = strides[i];
  }
  return smallest;
}

// Whether the group's axes lie one in the other, in order.
bool IsOneAxis(const AxisGroup& group, const Dims& dims, const Dims& strides) {
  dnnl::memory::dim expected = SmallestStride(group, dims, strides);
  for (std::size_t i = group.end; i-- > group.begin;) {
    if (dims[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= dims[i];
  }
  return true;
}

bool IsEmpty(const Dims& dims) { return std::find(dims.begin(), dims.end(), 0) != dims.end(); }

// Plain strides over memory of its own.
bool HasStrides(const Desc& desc) {
  return desc.get_format_kind() == dnnl::memory::format_kind::blocked && desc.get_inner_nblks() == 0 &&
         desc.get_submemory_offset() == 0 && desc.get_dims() == desc.get_padded_dims();
}

TensorType TypeLike(const TensorType& type, const Dims& dims) {
  return {type.dtype, Shape(std::vector<std::int64_t>(dims.begin(), dims.end()))};
}

// Dense; axes of a group side by side, groups in the order in which they lie in `from`.
Desc DenseByGroups(const Desc& from, const std::vector<AxisGroup>& groups) {
  const Dims dims = from.get_dims(), strides = from.get_strides();
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return SmallestStride(groups[a], dims, strides) > SmallestStride(groups[b], dims, strides);
  });
  Dims dense(dims.size());
  dnnl::memory::dim stride = 1;
  for (std::size_t g = order.size(); g-- > 0;) {
    const AxisGroup& group = groups[order[g]];
    for (std::size_t i = group.end; i-- > group.begin;) {
      dense[i] = stride;
      stride *= dims[i];
    }
  }
  return Desc(dims, from.get_data_type(), dense);
}

}  // namespace

Desc LayoutToReshape(const Desc& from, const TensorType& reshaped) {
  const Dims dims = from.get_dims();
  if (IsRowMajor(from)) return from;
  if (!HasStrides(from) || IsEmpty(dims)) return PlainDesc(TypeLike(reshaped, dims));
  const std::vector<AxisGroup> groups = GroupsOf(dims, DimsOf(reshaped.shape));
  const Dims strides = from.get_strides();
  const bool is_readable = std::all_of(groups.begin(), groups.end(),
                                       [&](const AxisGroup& group) { return IsOneAxis(group, dims, strides); });
  return is_readable ? from : DenseByGroups(from, groups);
}

Desc ReshapedLayout(const Desc& from, const TensorType& reshaped) {
  if (IsRowMajor(from)) return PlainDesc(reshaped);
  const Dims dims = from.get_dims(), strides = from.get_strides(), out = DimsOf(reshaped.shape);
  Dims out_strides(out.size());
  for (const AxisGroup& group : GroupsOf(dims, out)) {
    dnnl::memory::dim stride = std::max<dnnl::memory::dim>(1, SmallestStride(group, dims, strides));
    for (std::size_t o = group.out_end; o-- > group.out_begin;) {
      out_strides[o] = stride;
      stride *= out[o];
    }
  }
  return Desc(out, from.get_data_type(), out_strides);
}

}  // namespace amp::onednn
