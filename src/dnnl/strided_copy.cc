#include "dnnl/strided_copy.h"

#include <vector>

#include "dnnl/walk_layouts.h"

namespace amp::onednn {
namespace {

constexpr auto kBFloat16 = dnnl::memory::data_type::bf16;

}  // namespace

std::optional<kernels::StridedCopy> StridedCopyOf(const Desc& from, const Desc& to) {
  const bool are_bf16 = from.get_data_type() == kBFloat16 && to.get_data_type() == kBFloat16;
  if (!are_bf16 || from.get_dims() != to.get_dims()) return std::nullopt;
  const auto axes = WalkTogether({to, from});
  if (!axes) return std::nullopt;
  kernels::StridedCopy copy;
  for (const kernels::MapAxis& axis : *axes) copy.AddAxis(axis.size, axis.strides[1], axis.strides[0]);
  copy.Prepare();
  return copy;
}

bool MovesBFloat16(const PreparedPrimitive& reorder) {
  return reorder.inputs[0].get_data_type() == kBFloat16 && reorder.outputs[0].get_data_type() == kBFloat16;
}

}  // namespace amp::onednn
