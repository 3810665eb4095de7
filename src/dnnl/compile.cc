#include "dnnl/compile.h"

#include <algorithm>
#include <span>
#include <utility>

#include "dnnl/assign_layouts.h"
#include "dnnl/body_plans.h"
#include "dnnl/build_steps.h"
#include "dnnl/check_kernels.h"
#include "dnnl/constants.h"
#include "dnnl/cpu_info.h"
#include "dnnl/fold_constants.h"
#include "dnnl/inplace_sums.h"
#include "dnnl/plan_memory.h"
#include "dnnl/plan_stages.h"
#include "dnnl/product_nodes.h"
#include "dnnl/summarise.h"
#include "nnvm/dump.h"
#include "nnvm/env.h"
#include "nnvm/error.h"
#include "program/graph_costs.h"
#include "program/kernel_chooser.h"
#include "program/machine_capabilities.h"
#include "program/saved_choices.h"
#include "program/threads.h"

namespace amp::onednn {
namespace {

// A program with layouts, on its way to a plan.
struct BuildState {
  const CompileOptions& options;
  ConstantStore* store;
  LaidOutProgram laid_out;
  std::vector<std::string> input_names;
  std::vector<std::string> taken;  // parameters that bodies of control flow have taken
  std::vector<LayerDecision> decisions;
  bool keeps_denormals = false;                   // some step has to
  bool is_native = false;                         // bfloat16 is computed as such, but where float32 is faster
  std::map<std::string, std::string> in_float32;  // as in SavedChoices
  std::map<NodeId, std::string> why_float32;      // of nodes that bfloat16 is given and float32 computes
  std::shared_ptr<CompiledPlan> compiled = nullptr;

  const Program& program() const { return laid_out.program; }
};

constexpr Stage<BuildState> kBuildStages[] = {
    // Before memory is planned, so that packed weights and their sources take no room in the arena.
    {"FoldConstants", nullptr,
     [](BuildState& s) {
       s.laid_out = FoldConstants(std::move(s.laid_out), std::move(s.taken), s.is_native, s.store);
     }},
    // Adds the copies that primitives which add to their destination need.
    {"ShareSums", nullptr, [](BuildState& s) { s.laid_out = ShareSums(std::move(s.laid_out)); }},
    // From here on it is known how much scratch memory each step needs.
    {"BuildSteps", nullptr,
     [](BuildState& s) {
       s.compiled = BuildSteps(&s.laid_out, {s.options.machine.get(), s.options.count_denormals});
       s.compiled->num_threads = EffectiveThreads(s.options.num_threads);
       s.compiled->keeps_denormals = s.keeps_denormals;
       s.compiled->held = std::move(s.laid_out.held);
       s.compiled->folded = std::move(s.laid_out.folded);
     }},
    // After it every value has its place.
    {"PlanMemory", nullptr, [](BuildState& s) { PlanMemory(s.laid_out, s.compiled.get()); }},
};

// What has other readers stays: a plan for other shapes may need it as it was given.
void KeepShared(const Model& model, std::vector<std::string>* taken) {
  const Graph& graph = model.graph();
  for (const NodeId id : graph.variables()) {
    if (graph.ConsumersOf(graph.EntryOf(id, 0)).size() > 1) std::erase(*taken, ParameterKey(graph.node(id).name()));
  }
}

// Bodies of control flow become plans; what they take from the store is noted.
BodyPlanner PlannerOf(const CompileOptions& options, const ConstantStore& store, std::vector<std::string>* taken) {
  const bool plans = options.bodies != nullptr && options.backend == Backend::kOneDnn && PassEnabled("PlanBodies");
  if (!plans) return nullptr;
  return [&options, &store, taken](const BodyRequest& request) {
    for (const std::string& name : request.parameters) {
      if (!name.empty()) taken->push_back(name);
    }
    return options.bodies->RunnerOf(request, options, store);
  };
}

LowerOptions LowerOptionsOf(const Model& model, const CompileOptions& options,
                            const MachineCapabilities& capabilities) {
  const bool is_native = capabilities.onednn_has_bf16 || (ChoosesKernels(options) && capabilities.has_int16);
  LowerOptions lower{.reference = options.backend == Backend::kReference,
                     .native_bf16 = is_native,
                     .in_float32 = std::vector<bool>(model.graph().num_nodes()),
                     .alternate = options.alternate};
  if (options.saved != nullptr) {
    for (NodeId id = 0; id < lower.in_float32.size(); ++id) {
      lower.in_float32[id] = options.saved->in_float32.contains(model.graph().node(id).name());
    }
  } else if (options.machine != nullptr && is_native) {
    lower.in_float32 = GraphCosts(*options.machine, model).FasterInFloat32();
  }
  return lower;
}

constexpr const char* kNoBFloat16 = "the CPU has no bfloat16 arithmetic";
constexpr const char* kWrongKernel = "a kernel of it is wrong on this machine";

// What is known of nodes that oneDNN refuses.
struct Refusals {
  const Model& model;
  LowerOptions* lowering;
  std::set<NodeId> do_not_fuse = {};
  std::map<NodeId, std::string> why_float32 = {};  // of nodes that were put between casts

  // Where oneDNN computes in float32 alone, what no own kernel computes runs between casts. Whether that
  // helps.
  bool PutBetweenCasts(NodeId node) {
    const bool is_native = lowering->native_bf16 && !lowering->in_float32[node];
    if (!is_native || OneDnnHasBF16() || !TouchesBFloat16(model, node)) return false;
    return RunInFloat32(node, kNoBFloat16);
  }

  // Nodes for which there is no primitive run on their reference kernels. Whether there was anything new.
  bool Add(const LaidOutProgram& program) {
    const std::size_t known = Count();
    for (const auto& [node, reason] : program.unsupported) {
      if (!PutBetweenCasts(node)) lowering->unsupported.emplace(node, reason);
    }
    for (const NodeId node : program.do_not_fuse) {
      if (!PutBetweenCasts(node)) do_not_fuse.insert(node);
    }
    return Count() > known;
  }

  // A node whose kernel is wrong on this machine runs between casts, or else on its reference kernel. Whether that is
  // new.
  bool Distrust(NodeId node) {
    if (lowering->unsupported.contains(node)) return false;
    if (!lowering->in_float32[node] && TouchesBFloat16(model, node)) return RunInFloat32(node, kWrongKernel);
    return lowering->unsupported.emplace(node, kWrongKernel).second;
  }

  bool RunInFloat32(NodeId node, const char* why) {
    why_float32.emplace(node, why);
    return lowering->in_float32[node] = true;
  }

  // Why nodes were put between casts when the plan was saved.
  void AddSaved(const SavedChoices& saved) {
    for (NodeId id = 0; id < lowering->in_float32.size(); ++id) {
      const auto found = saved.in_float32.find(model.graph().node(id).name());
      if (found != saved.in_float32.end() && !found->second.empty()) why_float32.emplace(id, found->second);
    }
  }

  // Nodes that compute in float32 around their stored operands, as SavedChoices holds them.
  std::map<std::string, std::string> InFloat32() const {
    std::map<std::string, std::string> names;
    for (NodeId id = 0; id < lowering->in_float32.size(); ++id) {
      if (!lowering->in_float32[id]) continue;
      const auto why = why_float32.find(id);
      names.emplace(model.graph().node(id).name(), why == why_float32.end() ? "" : why->second);
    }
    return names;
  }

  std::size_t Count() const {
    const auto in_float32 = std::count(lowering->in_float32.begin(), lowering->in_float32.end(), true);
    return lowering->unsupported.size() + do_not_fuse.size() + static_cast<std::size_t>(in_float32);
  }
};

// Checks the kernels of the program. Whether some of them are not to be used: then they are not any more.
bool AvoidWrongKernels(const LaidOutProgram& program, const std::vector<LayerDecision>& decisions, KernelRecord* record,
                       Refusals* refusals) {
  if (record == nullptr) return false;
  CheckKernels(program, decisions, record);
  bool avoids = false;
  for (std::size_t i = 0; i < program.program.steps.size(); ++i) {
    const std::string kernel = RecordedKernel(program, i);
    if (kernel.empty() || !record->IsWrong(kernel)) continue;
    const Step& step = program.program.steps[i];
    const bool is_new = step.layer() != nullptr || refusals->Distrust(step.node);  // choosers avoid wrong layers
    if (is_new && record->TellsFirst(kernel)) {
      fmt::print(stderr, "amp: the kernel '{}' gives wrong results on this machine and is not used\n", kernel);
    }
    avoids = avoids || is_new;
  }
  return avoids;
}

CompileOptions WithTrustedKernels(CompileOptions options) {
  if (options.kernels != nullptr && options.kernel_record != nullptr) {
    options.kernels = std::make_shared<TrustedKernels>(options.kernel_record, options.kernels);
  }
  return options;
}

// `known`: of nodes that do for another reason than that float32 is faster.
std::map<NodeId, std::string> ReasonsForFloat32(const Model& model, const LowerOptions& lowering,
                                                std::map<NodeId, std::string> known) {
  for (NodeId id = 0; id < lowering.in_float32.size(); ++id) {
    if (!TouchesBFloat16(model, id)) continue;
    if (!lowering.native_bf16) {
      known.emplace(id, kNoBFloat16);
    } else if (lowering.in_float32[id]) {
      known.emplace(id, "float32 is faster here");
    }
  }
  return known;
}

// Lowers and lays out, and once more as long as oneDNN refuses some node or a kernel is not to be used.
BuildState LowerAndLayOut(const Model& model, const CompileOptions& options, ConstantStore* store) {
  const MachineCapabilities capabilities = CapabilitiesOfThisCpu();
  const CompileOptions trusted = WithTrustedKernels(options);
  LowerOptions lower_options = LowerOptionsOf(model, options, capabilities);
  std::vector<std::string> taken;
  lower_options.plan_body = PlannerOf(options, *store, &taken);
  Refusals refusals{model, &lower_options};
  if (options.saved != nullptr) refusals.AddSaved(*options.saved);
  for (;;) {
    PlanState state{model, trusted, capabilities, lower_options, refusals.do_not_fuse, *store, true};
    RunPlanStages(state);
    // Primitives choose layouts, reorders become steps.
    const std::size_t num_forward = options.num_forward_outputs.value_or(state.program().outputs.size());
    LaidOutProgram program = AssignLayouts(options.mode, std::move(state.program()), num_forward, *store);
    if (program.unsupported.empty() && program.do_not_fuse.empty()) {
      if (AvoidWrongKernels(program, state.decisions, options.kernel_record.get(), &refusals)) continue;
      KeepShared(model, &taken);
      std::map<std::string, std::string> in_float32 = refusals.InFloat32();
      return {options,
              store,
              std::move(program),
              std::move(state.lowered.input_names),
              std::move(taken),
              std::move(state.decisions),
              state.keeps_denormals,
              lower_options.native_bf16,
              std::move(in_float32),
              ReasonsForFloat32(model, lower_options, std::move(refusals.why_float32))};
    }
    // That adds at least one node per round, so the loop ends.
    if (!refusals.Add(program)) throw InternalError("a kernel rule lowers a node to what oneDNN refuses");
  }
}

std::shared_ptr<const Plan> PlanOf(const Model& model, BuildState state) {
  const LaidOutProgram& program = state.laid_out;
  auto plan = std::make_shared<Plan>();
  plan->input_names = std::move(state.input_names);
  for (const ValueId v : program.program.inputs) plan->input_types.push_back(program.TypeOf(v));
  for (const NodeEntry& output : model.graph().outputs()) {
    plan->output_types.push_back(model.types()[model.graph().EntryOf(output)]);
  }
  const std::size_t in_bodies = state.options.bodies != nullptr ? state.options.bodies->constant_bytes() : 0;
  const std::size_t constant_bytes = state.store->bytes() + program.own_constant_bytes + in_bodies;
  plan->summary = Summarise(model, program, *state.compiled, constant_bytes, state.why_float32);
  plan->features = FeaturesOf(program);
  for (LayerDecision& decision : state.decisions) decision.work.clear();  // which checks alone have read
  plan->decisions = std::move(state.decisions);
  plan->in_float32 = std::move(state.in_float32);
  plan->products = ProductNodesOf(model.graph(), model.types(), program);
  plan->compiled = state.compiled;
  return plan;
}

std::shared_ptr<const Plan> Build(const Model& model, const CompileOptions& options, ConstantStore* store) {
  BuildState state = LowerAndLayOut(model, options, store);
  RunPipeline<ProgramWatch>(std::span<const Stage<BuildState>>(kBuildStages), state);
  store->ReleaseUnheld();
  const std::shared_ptr<const Plan> plan = PlanOf(model, std::move(state));
  DumpText("plan", [&] { return plan->summary.Print(); });
  if (EnvFlag("AMP_VERBOSE")) fmt::print(stderr, "{}", plan->summary.Print());
  return plan;
}

}  // namespace

std::shared_ptr<const Plan> Compile(const Model& model, const CompileOptions& options,
                                    const std::shared_ptr<ConstantStore>& store, const ConstantSource& source) {
  const ThreadScope threads(EffectiveThreads(options.num_threads));
  const std::lock_guard lock(store->mutex());  // plans of one model are built one after the other
  try {
    return Build(model, options, store.get());
  } catch (const PlanMismatch&) {
    if (!source) throw;
  }
  store->TakeFrom(*source());  // under the lock: another plan would forget it again
  return Build(model, options, store.get());
}

std::vector<LayerDecision> ChooseWithoutPlan(const Model& model, const CompileOptions& options,
                                             const MachineCapabilities& capabilities, ConstantStore* store) {
  LowerOptions lower_options = LowerOptionsOf(model, options, capabilities);
  const std::set<NodeId> fuses_all;
  PlanState state{model, options, capabilities, lower_options, fuses_all, *store};
  RunPlanStages(state);
  return std::move(state.decisions);
}

std::size_t BytesOf(const ConstantStore& store) { return store.bytes(); }

NDArray ParameterArray(const std::string& name, const TensorType& type, const ConstantStore& store) {
  const auto constant = store.Find(name, PlainDesc(type));
  if (!constant) store.FailWithout(name);
  return NDArray(type, const_cast<void*>(constant->data.get()), constant->data);
}

void ReleaseSources(const std::map<std::string, TensorType>& parameters, ConstantStore* store) {
  store->ReleaseSources(parameters);
}

std::map<std::string, TensorType> ParameterTypes(const Model& model) {
  std::map<std::string, TensorType> types;
  for (const std::string& name : model.parameters()) {
    const auto found = model.variable_types().find(name);
    if (found == model.variable_types().end()) continue;  // no step reads it
    if (!found->second.fully_known()) Throw<GraphError>("the parameter '{}' has no type", Quotable(name, 200));
    types.emplace(ParameterKey(name), found->second);
  }
  return types;
}

std::shared_ptr<ConstantStore> NewConstantStore(const ModelParams& params, const BorrowedMemory* borrowed) {
  std::map<std::string, NDArray> arrays;
  for (const NDArrayMap* group : {&params.args, &params.aux}) {
    for (const auto& [name, array] : *group) arrays.emplace(ParameterKey(name), array);
  }
  auto store = std::make_shared<ConstantStore>();
  store->AddArrays(arrays, borrowed);
  return store;
}

}  // namespace amp::onednn
