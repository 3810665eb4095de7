// Elementwise work by our own kernel, on memory as it lies.
#include "dnnl/step_kinds/map.h"

#include <algorithm>
#include <utility>

#include "dnnl/channel_rows.h"
#include "dnnl/step_kind.h"
#include "dnnl/strided_iterator.h"
#include "kernels/elementwise/map.h"
#include "nnvm/error.h"
#include "program/kernel_types.h"

namespace amp::onednn {
namespace {

std::unique_ptr<const OwnKernel> MakeMap(const Step& step, const LaidOutProgram& program) {
  std::vector<Desc> layouts{program.layouts[step.outputs[0]]};
  std::vector<kernels::ElementType> types;
  for (const ValueId v : step.inputs) {
    layouts.push_back(program.layouts[v]);
    types.push_back(KernelType(program.TypeOf(v).dtype));
  }
  auto axes = WalkTogether(layouts);
  if (!axes) throw InternalError("a map over memory that cannot be walked");
  for (kernels::MapAxis& axis : *axes) axis.strides.erase(axis.strides.begin());  // the result's: it is dense
  const kernels::ElementType result = KernelType(program.TypeOf(step.outputs[0]).dtype);
  kernels::Map map(std::move(types), result, std::get<MapSpec>(step.spec).steps, std::move(*axes));
  return MakeOwnKernel([map = std::move(map)](const KernelOperands& operands) {
    const void* inputs[kernels::Map::kMaxOperands];
    for (std::size_t i = 0; i < operands.num_inputs(); ++i) inputs[i] = operands.input(i);
    map.Run(inputs, operands.output());
  });
}

// The layout of the first input that has the output's shape, if it can be walked: that input is read as it lies.
Desc LayoutFor(const LayoutBuilder& builder, const Step& step) {
  const TensorType& out = builder.TypeOf(step.outputs[0]);
  for (const ValueId v : step.inputs) {
    if (builder.TypeOf(v).shape != out.shape) continue;
    const Desc layout = DenseCopy(builder.LayoutOf(v), out);
    return WalkTogether({layout, builder.LayoutOf(v)}) ? layout : PlainDesc(out);
  }
  return PlainDesc(out);
}

}  // namespace

void AssignMap(LayoutBuilder* builder, Step step) {
  const ValueId out = step.outputs[0];
  const TensorType type = builder->TypeOf(out);
  const Desc layout = LayoutFor(*builder, step);
  for (ValueId& input : step.inputs) {
    const TensorType& in = builder->TypeOf(input);
    const bool is_whole = in.shape == type.shape;
    const bool has_order = is_whole && DenseCopy(builder->LayoutOf(input), type) == layout;
    const bool is_walkable = WalkTogether({layout, builder->LayoutOf(input)}).has_value();
    if (is_walkable && (has_order || !is_whole)) continue;
    const Desc in_order = is_whole ? DenseCopy(layout, in) : PlainDesc(in);
    input = builder->InLayout(input, in_order, step.node, "own kernel requires the order of the result");
  }
  builder->SetLayout(out, layout);
  builder->Append(std::move(step));
}

namespace {

[[maybe_unused]] const bool kMap = RegisterStepKind<MapSpec>({.assign_layouts = AssignMap, .make_kernel = MakeMap});

}  // namespace
}  // namespace amp::onednn
