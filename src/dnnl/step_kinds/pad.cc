// Borders, in the layout of what they surround.
#include "kernels/movement/pad.h"

#include <algorithm>
#include <optional>

#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"
#include "nnvm/error.h"

namespace amp::onednn {
namespace {

struct StridedAxis {
  kernels::PadAxis axis;
  std::int64_t stride;
};

// The axes in the order in which they lie in memory, outermost first; an axis in blocks is two. nullopt where the
// layout is packed or has gaps, or where borders would lie within blocks.
std::optional<std::vector<kernels::PadAxis>> PadAxesOf(const Desc& layout, const PadSpec& spec, DType dtype) {
  const bool is_walkable = layout.get_format_kind() == dnnl::memory::format_kind::blocked &&
                           layout.get_inner_nblks() <= 1 && layout.get_dims() == layout.get_padded_dims() &&
                           IsDense(layout, dtype);
  if (!is_walkable) return std::nullopt;
  std::vector<StridedAxis> axes;
  for (std::size_t i = 0; i < spec.before.size(); ++i) {
    axes.push_back({{layout.get_dims()[i], spec.before[i], spec.after[i]}, layout.get_strides()[i]});
  }
  if (layout.get_inner_nblks() == 1) {
    kernels::PadAxis& blocked = axes[static_cast<std::size_t>(layout.get_inner_idxs()[0])].axis;
    if (blocked.before != 0 || blocked.after != 0) return std::nullopt;
    const std::int64_t block = layout.get_inner_blks()[0];
    blocked.size /= block;
    axes.push_back({{block, 0, 0}, 0});
  }
  std::stable_sort(axes.begin(), axes.end(), [](const auto& a, const auto& b) { return a.stride > b.stride; });
  std::vector<kernels::PadAxis> ordered;
  for (const StridedAxis& axis : axes) ordered.push_back(axis.axis);
  return ordered;
}

void AssignPad(LayoutBuilder* builder, Step step) {
  const auto& spec = std::get<PadSpec>(step.spec);
  const TensorType in = builder->TypeOf(step.inputs[0]), out = builder->TypeOf(step.outputs[0]);
  if (!PadAxesOf(builder->LayoutOf(step.inputs[0]), spec, in.dtype)) {
    step.inputs[0] = builder->InRowMajor(step.inputs[0], step.node, "borders cannot be put around this layout");
  }
  builder->SetLayout(step.outputs[0], DenseWithBlocksOf(builder->LayoutOf(step.inputs[0]), out));
  builder->Append(std::move(step));
}

std::unique_ptr<const OwnKernel> MakePad(const Step& step, const LaidOutProgram& program) {
  const auto& spec = std::get<PadSpec>(step.spec);
  const ValueId in = step.inputs[0];
  const DType dtype = program.TypeOf(in).dtype;
  auto axes = PadAxesOf(program.layouts[in], spec, dtype);
  if (!axes) throw InternalError("a pad of memory that cannot be walked");
  const kernels::Pad pad(spec.mode, *std::move(axes), static_cast<std::size_t>(BytesOf(dtype)), spec.constant);
  return MakeOwnKernel([pad](const KernelOperands& operands) { pad.Run(operands.input(0), operands.output()); });
}

[[maybe_unused]] const bool kPad = RegisterStepKind<PadSpec>({.assign_layouts = AssignPad, .make_kernel = MakePad});

}  // namespace
}  // namespace amp::onednn
