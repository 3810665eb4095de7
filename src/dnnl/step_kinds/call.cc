// Reference kernels, and other functions on row-major arrays.
#include "dnnl/assign_primitive.h"
#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"

namespace amp::onednn {
namespace {

std::unique_ptr<const OwnKernel> MakeCall(const Step& step, const LaidOutProgram& program) {
  return MakeOwnKernel([function = std::get<CallSpec>(step.spec).function,
                        types = program.TypesOf(step)](const KernelOperands& operands) {
    std::vector<NDArray> inputs, outputs;
    for (std::size_t i = 0; i < types.inputs.size(); ++i) {
      inputs.emplace_back(types.inputs[i], const_cast<void*>(operands.input(i)), nullptr);
    }
    for (std::size_t i = 0; i < types.outputs.size(); ++i) {
      outputs.emplace_back(types.outputs[i], operands.output(i), nullptr);
    }
    function(inputs, outputs);
  });
}

[[maybe_unused]] const bool kCall =
    RegisterStepKind<CallSpec>({.assign_layouts = AssignRowMajor, .make_kernel = MakeCall, .is_reference = true});

}  // namespace

void AssignRowMajor(LayoutBuilder* builder, Step step) {
  const char* reason = BackEndOf(step.spec).is_reference ? "a reference kernel reads row-major memory"
                                                         : "own kernel requires row-major memory";
  for (ValueId& input : step.inputs) input = builder->InRowMajor(input, step.node, reason);
  builder->Append(std::move(step));
}

}  // namespace amp::onednn
