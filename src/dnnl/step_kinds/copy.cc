// Copies: parts of tensors, and other layouts. oneDNN reorders; where the layouts agree, our kernel copies bytes, and
// where oneDNN would not keep them, our kernel copies elements.
#include <cstring>

#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"
#include "dnnl/strided_copy.h"
#include "nnvm/error.h"

namespace amp::onednn {
namespace {

std::unique_ptr<const OwnKernel> MakeCopy(const Step& step, const LaidOutProgram& program) {
  const Desc &from = program.layouts[step.inputs[0]], &to = program.layouts[step.outputs[0]];
  if (IsRowMajor(from) && IsRowMajor(to)) {
    return MakeOwnKernel([bytes = from.get_size()](const KernelOperands& operands) {
      if (bytes != 0) std::memcpy(operands.output(), operands.input(0), bytes);
    });
  }
  const auto copy = StridedCopyOf(from, to);
  if (!copy) Throw<InternalError>("no copy from {} to {}", LayoutName(from), LayoutName(to));
  return MakeOwnKernel(
      [copy = *copy](const KernelOperands& operands) { copy.Run(operands.input(0), operands.output()); });
}

bool CanWriteCopy(const Step& step, const LaidOutProgram& program, const Desc& layout) {
  return StridedCopyOf(program.layouts[step.inputs[0]], layout).has_value();
}

// A view of a part of the input, copied into dense memory with the axes in the same order.
void AssignSlice(LayoutBuilder* builder, Step step) {
  const IntTuple& begins = std::get<SliceSpec>(step.spec).begins;
  ValueId in = step.inputs[0];
  const ValueId out = step.outputs[0];
  const TensorType type = builder->TypeOf(out);
  const dnnl::memory::dims dims = DimsOf(type.shape);
  Desc box = builder->LayoutOf(in).submemory_desc(dims, begins, /*allow_empty=*/true);
  if (!box) {
    in = builder->InRowMajor(in, step.node, "a blocked layout cannot be cut there");
    box = builder->LayoutOf(in).submemory_desc(dims, begins);
  }
  const ValueId view = builder->AddValue(type, builder->NameOf(out) + ":view", box);
  builder->Alias(view, in, box);
  builder->SetLayout(out, DenseLike(builder->LayoutOf(in), type));
  auto prepared = PrepareReorder(box, builder->LayoutOf(out));
  if (!prepared) return builder->Reject(step, "oneDNN cannot copy this part of a tensor");
  Step copy{ReorderSpec{}, {view}, {out}, step.node, "a slice is copied into dense memory"};
  copy.depends_on_input_shape = step.depends_on_input_shape;
  builder->AppendReorder(std::move(copy), *std::move(prepared));
}

[[maybe_unused]] const bool kSlice = RegisterStepKind<SliceSpec>({.assign_layouts = AssignSlice});
// Layout assignment itself makes these.
[[maybe_unused]] const bool kReorder =
    RegisterStepKind<ReorderSpec>({.make_kernel = MakeCopy, .can_write = CanWriteCopy});

}  // namespace
}  // namespace amp::onednn
