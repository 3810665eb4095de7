#include "dnnl/assign_layouts.h"

#include <utility>

#include "dnnl/assign_primitive.h"
#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"

namespace amp::onednn {

LaidOutProgram AssignLayouts(NumericMode mode, Program program, const ConstantStore& store) {
  LayoutBuilder builder(mode, program, store);
  for (Step& step : program.steps) {
    const auto assign = BackEndOf(step.spec).assign_layouts;
    (assign != nullptr ? assign : AssignPrimitive)(&builder, std::move(step));
  }
  return builder.Finish();
}

}  // namespace amp::onednn
