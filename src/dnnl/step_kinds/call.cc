// Reference kernels, and other functions on row-major arrays.
#include "dnnl/assign_primitive.h"
#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"

namespace amp::onednn {
namespace {

class CallKernel : public OwnKernel {
 public:
  CallKernel(CallSpec spec, StepTypes types) : spec_(std::move(spec)), types_(std::move(types)) {}
  void Run(const KernelOperands& operands) const override {
    std::vector<NDArray> inputs, outputs;
    for (std::size_t i = 0; i < types_.inputs.size(); ++i) {
      inputs.emplace_back(types_.inputs[i], const_cast<void*>(operands.input(i)), nullptr);
    }
    for (std::size_t i = 0; i < types_.outputs.size(); ++i) {
      outputs.emplace_back(types_.outputs[i], operands.output(i), nullptr);
    }
    spec_.function(inputs, outputs);
  }

 private:
  CallSpec spec_;
  StepTypes types_;
};

std::unique_ptr<const OwnKernel> MakeCall(const Step& step, const LaidOutProgram& program) {
  return std::make_unique<CallKernel>(std::get<CallSpec>(step.spec), program.TypesOf(step));
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
