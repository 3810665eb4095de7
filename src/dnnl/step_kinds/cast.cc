#include "kernels/elementwise/cast.h"

#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"
#include "dnnl/strided_copy.h"
#include "program/kernel_types.h"

namespace amp::onednn {
namespace {

// On the memory as it lies, padding included: both sides have the same layout.
std::unique_ptr<const OwnKernel> MakeCast(const Step& step, const LaidOutProgram& program) {
  const ValueId in = step.inputs[0];
  const auto from = KernelType(program.TypeOf(in).dtype), to = KernelType(program.TypeOf(step.outputs[0]).dtype);
  const std::size_t count = program.layouts[in].get_size() / kernels::ElementBytes(from);
  const bool stays_finite = std::get<CastSpec>(step.spec).stays_finite;
  return MakeOwnKernel([=](const KernelOperands& operands) {
    if (stays_finite) return kernels::CastToFiniteHalf(from, operands.input(0), operands.output(), count);
    kernels::Cast(from, operands.input(0), to, operands.output(), count);
  });
}

// Whether the layout can be left again: padded ones in bfloat16 need code of oneDNN's for the CPU.
bool CanBeLeft(const Desc& layout, const TensorType& type) {
  const auto reorder = PrepareReorder(layout, PlainDesc(type));
  if (!reorder) return false;
  const bool is_code_for_cpu = reorder->implementation.find("jit") != std::string::npos;
  return !MovesBFloat16(*reorder) || is_code_for_cpu || StridedCopyOf(layout, PlainDesc(type));
}

// In the layout of the input, if the same layout exists in the other dtype and can be left again: oneDNN reorders
// float16 on few CPUs.
void AssignCast(LayoutBuilder* builder, Step step) {
  const ValueId in = step.inputs[0], out = step.outputs[0];
  const TensorType type = builder->TypeOf(out);
  Desc layout = WithDType(builder->LayoutOf(in), type.dtype);
  const bool keeps_layout = !layout.is_zero() && layout.get_size() % BytesOf(type.dtype) == 0 &&
                            IsDense(builder->LayoutOf(in), builder->TypeOf(in).dtype) &&
                            (IsRowMajor(layout) || CanBeLeft(layout, type));
  if (!keeps_layout) {
    step.inputs[0] = builder->InRowMajor(in, step.node, "a cast whose result could not be reordered");
    layout = PlainDesc(type);
  }
  builder->SetLayout(out, layout);
  const bool is_plain = !step.alternate && !std::get<CastSpec>(step.spec).stays_finite;
  if (builder->is_fast() && is_plain) builder->SetCastSource(out, step.inputs[0]);
  builder->Append(std::move(step));
}

[[maybe_unused]] const bool kCast = RegisterStepKind<CastSpec>({.assign_layouts = AssignCast, .make_kernel = MakeCast});

}  // namespace
}  // namespace amp::onednn
