// From a typed graph to a plan.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "dnnl/backend.h"
#include "dnnl/plan.h"
#include "passes/alternate.h"
#include "passes/model.h"
#include "passes/numeric_mode.h"

namespace amp {
struct LayerDecision;
struct MachineCapabilities;
class KernelChooser;
class MachineTable;
}  // namespace amp

namespace amp::onednn {

class ConstantStore;

// Stages of a plan that AMP_DISABLE_PASSES may leave out.
inline constexpr std::array<const char*, 7> kOptionalPlanStages = {
    "PlanBodies", "FoldPads", "FusePostOps", "FuseMaps", "AliasConcats", "ChooseLayouts", "ChooseKernels"};

class BodyPlans;

struct CompileOptions {
  Backend backend = Backend::kOneDnn;
  int num_threads = 0;  // 0: kernels::DefaultThreads()
  NumericMode mode = NumericMode::kFast;
  // Whose times say which bfloat16 nodes compute in float32 around their stored operands; null: none do where the CPU
  // has the arithmetic.
  std::shared_ptr<const MachineTable> machine = nullptr;
  // Makes plans of bodies of control flow, see runtime/bound_bodies.h; null: they run on reference kernels.
  std::shared_ptr<BodyPlans> bodies = nullptr;
  // Chooses among kernels of ours and the library's; null: the library's. Asked in mode fast only.
  std::shared_ptr<const KernelChooser> kernels = nullptr;
  // The plan has two halves, see Session: the first so many outputs, and the others. nullopt: one.
  std::optional<std::size_t> num_forward_outputs = {};
  AlternateSettings alternate = {};  // which nodes keep small numbers
  bool count_denormals = false;      // count what the others lose
};

// A store that holds the parameters of a model, to be shared by all its plans.
std::shared_ptr<ConstantStore> NewConstantStore(const ModelParams& params);
std::size_t BytesOf(const ConstantStore& store);
// The row-major array of a parameter that the store holds. Throws InternalError where it does not.
NDArray ParameterArray(const std::string& name, const TensorType& type, const ConstantStore& store);

// The store holds the model's parameters, and releases the original arrays once the plan works on packed forms. Throws
// UnsupportedError for operators without any kernel.
std::shared_ptr<const Plan> Compile(const Model& model, const CompileOptions& options,
                                    const std::shared_ptr<ConstantStore>& store);

// What would compute the layers of a plan on a CPU that can do this. No plan is built, so it need not be this CPU; what
// oneDNN fuses is asked of its code for this one.
std::vector<LayerDecision> ChooseWithoutPlan(const Model& model, const CompileOptions& options,
                                             const MachineCapabilities& capabilities, ConstantStore* store);

}  // namespace amp::onednn
