// What whoever compiles a plan chooses.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "passes/alternate.h"
#include "passes/numeric_mode.h"
#include "program/backend.h"

namespace amp {
class KernelChooser;
class KernelRecord;
class MachineTable;
struct SavedChoices;
}  // namespace amp

namespace amp::onednn {

class BodyPlans;

// Stages of a plan that AMP_DISABLE_PASSES may leave out.
inline constexpr std::array<const char*, 7> kOptionalPlanStages = {
    "PlanBodies", "FoldPads", "FusePostOps", "FuseMaps", "AliasConcats", "ChooseLayouts", "ChooseKernels"};

struct CompileOptions {
  Backend backend = Backend::kOneDnn;
  int num_threads = 0;  // 0: kernels::DefaultThreads()
  NumericMode mode = NumericMode::kFast;
  // Whose times say which bfloat16 nodes compute in float32 around their stored operands; null: none do where the CPU
  // has the arithmetic.
  std::shared_ptr<const MachineTable> machine = nullptr;
  // Makes plans of bodies of control flow, see runtime/bound_bodies.h; null: they run on reference kernels.
  std::shared_ptr<BodyPlans> bodies = nullptr;
  // Chooses among own kernels and oneDNN's; null: oneDNN's. Asked in mode fast only.
  std::shared_ptr<const KernelChooser> kernels = nullptr;
  // What is known of kernels of low precision: those that were not checked yet are, and wrong ones are not used. null:
  // nothing is checked.
  std::shared_ptr<KernelRecord> kernel_record = nullptr;
  // What was chosen for the same plan before; null: it is chosen now.
  std::shared_ptr<const SavedChoices> saved = nullptr;
  // The plan has two halves, see Session: the first so many outputs, and the others. nullopt: one.
  std::optional<std::size_t> num_forward_outputs = {};
  AlternateSettings alternate = {};  // which nodes keep denormals
  bool count_denormals = false;      // count what the others lose
};

}  // namespace amp::onednn
