#include "ops/map_rules.h"

#include <algorithm>
#include <utility>

#include "ops/broadcast.h"
#include "program/map_steps.h"

namespace amp {
namespace {

bool IsFloat32OrBF16(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kBFloat16; }

}  // namespace

bool LowerToMap(LowerContext& c, std::vector<kernels::MapStep> steps, std::vector<int> tested_inputs) {
  const TensorType& out = c.out_type(0);
  const int num_inputs = static_cast<int>(c.in_types().size());
  if (!IsMapResult(out.dtype) || out.shape.rank() > static_cast<int>(kernels::MapWalk::kMaxAxes) / 2) return false;
  std::vector<ValueId> inputs;
  for (int i = 0; i < num_inputs; ++i) {
    const auto& [dtype, shape] = c.in_type(i);
    const bool is_tested = std::find(tested_inputs.begin(), tested_inputs.end(), i) != tested_inputs.end();
    const bool is_known = IsFloat32OrBF16(dtype) || dtype == DType::kBool || (is_tested && IsMapOperand(dtype));
    if (!is_known || shape.rank() > out.shape.rank()) return false;
    inputs.push_back(c.Reshape(c.in(i), AlignedRight(shape, out.shape.rank())));
  }
  c.SetOut(0, c.Emit(MapSpec{std::move(steps)}, std::move(inputs), out));
  return true;
}

}  // namespace amp
