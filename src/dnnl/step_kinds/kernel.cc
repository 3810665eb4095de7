// Kernels of ours that an operator's definition hands over.
#include "dnnl/assign_primitive.h"
#include "dnnl/step_kind.h"

namespace amp::onednn {
namespace {

class SpecifiedKernel : public OwnKernel {
 public:
  explicit SpecifiedKernel(KernelSpec spec) : spec_(std::move(spec)) {}
  std::size_t ScratchBytes() const override { return spec_.scratch_bytes; }
  void Run(const KernelOperands& operands) const override { spec_.run(operands); }

 private:
  KernelSpec spec_;
};

std::unique_ptr<const OwnKernel> MakeSpecified(const Step& step, const LaidOutProgram&) {
  return std::make_unique<SpecifiedKernel>(std::get<KernelSpec>(step.spec));
}

[[maybe_unused]] const bool kKernel =
    RegisterStepKind<KernelSpec>({.assign_layouts = AssignRowMajor, .make_kernel = MakeSpecified});

}  // namespace
}  // namespace amp::onednn
