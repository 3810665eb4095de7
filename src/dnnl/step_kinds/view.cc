// Reshapes and permutations: other views of the same memory, where that is possible.
#include "dnnl/layout_builder.h"
#include "dnnl/reshaped_layout.h"
#include "dnnl/step_kind.h"
#include "program/permutation.h"

namespace amp::onednn {
namespace {

// What becomes of a constant in a shape that an input gives it is not to be kept for plans with other shapes.
ValueId CopyForThisPlan(LayoutBuilder* builder, ValueId v, NodeId node) {
  const TensorType type = builder->TypeOf(v);
  const ValueId copy = builder->AddValue(type, builder->NameOf(v) + ":copy", PlainDesc(type));
  Step step{ReorderSpec{}, {v}, {copy}, node, "its shape is that of an input"};
  step.depends_on_input_shape = true;
  builder->Append(std::move(step));
  return copy;
}

void AssignReshape(LayoutBuilder* builder, Step step) {
  ValueId in = step.inputs[0];
  const TensorType type = builder->TypeOf(step.outputs[0]);
  if (step.depends_on_input_shape && builder->laid_out().IsConstant(in)) {
    in = CopyForThisPlan(builder, builder->InRowMajor(in, step.node, "its shape is that of an input"), step.node);
  }
  const Desc readable = LayoutToReshape(builder->LayoutOf(in), type);
  in = builder->InLayout(in, readable, step.node, "a change of shape reads axes that lie side by side");
  builder->Alias(step.outputs[0], in, ReshapedLayout(readable, type));
}

void AssignPermute(LayoutBuilder* builder, Step step) {
  const ValueId in = step.inputs[0];
  const std::vector<int>& axes = std::get<PermuteSpec>(step.spec).axes;
  // dnnl's permutation says where input axis i goes; ours says where output axis i comes from.
  builder->Alias(step.outputs[0], in, builder->LayoutOf(in).permute_axes(InversePermutation(axes)));
}

[[maybe_unused]] const bool kReshape = RegisterStepKind<ReshapeSpec>({.assign_layouts = AssignReshape});
[[maybe_unused]] const bool kPermute = RegisterStepKind<PermuteSpec>({.assign_layouts = AssignPermute});

}  // namespace
}  // namespace amp::onednn
