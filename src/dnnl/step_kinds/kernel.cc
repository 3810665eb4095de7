// Own kernels that an operator's definition hands over.
#include "dnnl/assign_primitive.h"
#include "dnnl/step_kind.h"

namespace amp::onednn {
namespace {

std::unique_ptr<const OwnKernel> MakeSpecified(const Step& step, const LaidOutProgram&) {
  const auto& spec = std::get<KernelSpec>(step.spec);
  return MakeOwnKernel(spec.run, spec.scratch_bytes);
}

[[maybe_unused]] const bool kKernel =
    RegisterStepKind<KernelSpec>({.assign_layouts = AssignRowMajor, .make_kernel = MakeSpecified});

}  // namespace
}  // namespace amp::onednn
