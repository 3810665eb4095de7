#include "ops/common/float32_kernel.h"

#include <utility>

namespace amp {

bool LowerInFloat32(LowerContext& c, KernelSpec kernel, std::optional<int> num_inputs) {
  const auto fits = [](DType dtype) { return IsFloat(dtype) && dtype != DType::kFloat64; };
  const int count = num_inputs.value_or(static_cast<int>(c.in_types().size()));
  for (int i = 0; i < count; ++i) {
    if (!fits(c.in_type(i).dtype)) return false;
  }
  if (!fits(c.out_type(0).dtype)) return false;
  std::vector<ValueId> inputs;
  for (int i = 0; i < count; ++i) inputs.push_back(c.Cast(c.in(i), DType::kFloat32));
  const ValueId result = c.Emit(std::move(kernel), std::move(inputs), {DType::kFloat32, c.out_type(0).shape});
  c.SetOut(0, c.Cast(result, c.out_type(0).dtype));
  return true;
}

}  // namespace amp
