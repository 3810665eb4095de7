#include "ops/common/map_rules.h"

#include <algorithm>
#include <utility>

#include "ops/common/broadcast.h"
#include "program/map_steps.h"

namespace amp {
bool LowerToMap(LowerContext& c, std::vector<kernels::MapStep> steps, const std::vector<int>& tested_inputs) {
  std::vector<ValueId> inputs;
  for (int i = 0; i < static_cast<int>(c.in_types().size()); ++i) inputs.push_back(c.in(i));
  return LowerToMap(c, std::move(steps), std::move(inputs), tested_inputs);
}

bool LowerToMap(LowerContext& c, std::vector<kernels::MapStep> steps, std::vector<ValueId> inputs,
                const std::vector<int>& tested_inputs) {
  TensorType out = c.out_type(0);
  const int rank = out.shape.rank();
  // float16 is storage.
  const auto in_float32 = [](DType dtype) { return dtype == DType::kFloat16 ? DType::kFloat32 : dtype; };
  out.dtype = in_float32(out.dtype);
  if (!IsMapResult(out.dtype) || rank > kMaxMapRank) return false;
  for (ValueId& input : inputs) input = c.Cast(input, in_float32(c.DTypeOf(input)));
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    const DType dtype = c.DTypeOf(inputs[static_cast<std::size_t>(i)]);
    const bool is_tested = std::find(tested_inputs.begin(), tested_inputs.end(), i) != tested_inputs.end();
    if (!IsFloat32OrBF16(dtype) && !(is_tested && IsMapOperand(dtype))) return false;
  }
  for (ValueId& input : inputs) input = c.Reshape(input, AlignedRight(c.ShapeOf(input), rank));
  const ValueId result = c.Emit(MapSpec{std::move(steps)}, std::move(inputs), std::move(out));
  c.SetOut(0, c.Cast(result, c.out_type(0).dtype));
  return true;
}

}  // namespace amp
