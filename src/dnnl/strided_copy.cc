#include "dnnl/strided_copy.h"

#include <vector>

#include "dnnl/strided_iterator.h"

namespace amp::onednn {
namespace {

constexpr auto kBFloat16 = dnnl::memory::data_type::bf16;

}  // namespace

std::optional<kernels::StridedCopy> StridedCopyOf(const Desc& from, const Desc& to) {
  if (from.get_data_type() != to.get_data_type() || from.get_dims() != to.get_dims()) return std::nullopt;
  const auto axes = WalkTogether({to, from});
  if (!axes) return std::nullopt;
  kernels::StridedCopy copy(dnnl::memory::data_type_size(from.get_data_type()));
  for (const kernels::MapAxis& axis : *axes) copy.AddAxis(axis.size, axis.strides[1], axis.strides[0]);
  copy.Prepare();
  return copy;
}

bool MovesBFloat16(const PreparedPrimitive& reorder) {
  return reorder.inputs[0].get_data_type() == kBFloat16 && reorder.outputs[0].get_data_type() == kBFloat16;
}

std::optional<kernels::StridedCopy> BetterCopy(const PreparedPrimitive& reorder) {
  const bool is_code_for_cpu = reorder.implementation.find("jit") != std::string::npos;
  const bool is_padded = reorder.inputs[0].get_dims() != reorder.inputs[0].get_padded_dims();  // element by element
  if (is_code_for_cpu && !is_padded && !MovesBFloat16(reorder)) return std::nullopt;
  return StridedCopyOf(reorder.inputs[0], reorder.outputs[0]);
}

}  // namespace amp::onednn
