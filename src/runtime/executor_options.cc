#include "runtime/executor_options.h"

#include "program/kernel_chooser.h"
#include "program/machine_table.h"
#include "runtime/backward_guard.h"
#include "runtime/bound_bodies.h"
#include "runtime/checked_kernels.h"

namespace amp::onednn {
namespace {

std::shared_ptr<const KernelChooser> ChooserOf(const BindOptions& options, const MachineTable* machine) {
  if (!options.forced_kernel.empty()) return std::make_shared<ForcedKernel>(options.forced_kernel);
  if (machine == nullptr) return nullptr;
  return std::make_shared<RecordedKernels>(machine->tuned(), std::make_shared<PredictedKernels>());
}

}  // namespace

CompileOptions CompileOptionsFor(const BindOptions& options, const std::shared_ptr<const MachineTable>& machine) {
  AlternateSettings alternate = CurrentAlternate();
  alternate.is_backward = BackwardGuard::IsBackward();
  return {.backend = options.backend ? *options.backend : DefaultBackend(),
          .num_threads = options.num_threads,
          .mode = options.mode,
          .machine = machine,
          .bodies = NewBodyPlans(),
          .kernels = ChooserOf(options, machine.get()),
          .kernel_record = CheckedKernels(),
          .alternate = alternate,
          .count_denormals = options.count_denormals};
}

}  // namespace amp::onednn
