#include "dnnl/assign_layouts.h"

#include <utility>

#include "dnnl/assign_primitive.h"
#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"

namespace amp::onednn {

LaidOutProgram AssignLayouts(NumericMode mode, Program program, std::size_t num_forward_outputs,
                             const ConstantStore& store) {
  LayoutBuilder builder(mode, program, store);
  bool is_backward = false;
  for (Step& step : program.steps) {
    if (step.is_backward && !std::exchange(is_backward, true)) builder.BeginBackward(num_forward_outputs);
    const auto assign = BackEndOf(step).assign_layouts;
    (assign != nullptr ? assign : AssignPrimitive)(&builder, std::move(step));
  }
  if (!is_backward) builder.BeginBackward(num_forward_outputs);  // gradients may be copies alone
  return builder.Finish();
}

}  // namespace amp::onednn
