// The stages of a plan, one call per stage.
#include "dnnl/compile.h"

#include <algorithm>
#include <utility>

#include "dnnl/assign_layouts.h"
#include "dnnl/body_plans.h"
#include "dnnl/build_steps.h"
#include "dnnl/constants.h"
#include "dnnl/cpu_info.h"
#include "dnnl/fold_constants.h"
#include "dnnl/fold_pads.h"
#include "dnnl/fuse_post_ops.h"
#include "dnnl/inplace_sums.h"
#include "dnnl/plan_memory.h"
#include "dnnl/product_nodes.h"
#include "dnnl/summarise.h"
#include "nnvm/dump.h"
#include "nnvm/env.h"
#include "nnvm/error.h"
#include "passes/pipeline.h"
#include "program/choose_kernels.h"
#include "program/choose_layouts.h"
#include "program/fuse_maps.h"
#include "program/graph_costs.h"
#include "program/lowering.h"
#include "program/machine_capabilities.h"
#include "program/split_phases.h"
#include "program/threads.h"

namespace amp::onednn {
namespace {

struct LoweredModel {
  LaidOutProgram program;
  std::vector<std::string> input_names;
  std::vector<std::string> taken;  // parameters that bodies of control flow have taken
  std::vector<LayerDecision> decisions;
  bool keeps_denormals = false;  // some step has to
  bool is_native = false;        // bfloat16 is computed as such, but for layers that float32 computes faster
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

bool ChoosesKernels(const CompileOptions& options) {
  return options.mode == NumericMode::kFast && options.kernels != nullptr && options.backend == Backend::kOneDnn &&
         PassEnabled("ChooseKernels");
}

LowerOptions LowerOptionsOf(const Model& model, const CompileOptions& options,
                            const MachineCapabilities& capabilities) {
  const bool is_native = capabilities.onednn_has_bf16 || (ChoosesKernels(options) && capabilities.has_int16);
  LowerOptions lower{.reference = options.backend == Backend::kReference,
                     .native_bf16 = is_native,
                     .in_float32 = std::vector<bool>(model.graph().num_nodes()),
                     .alternate = options.alternate};
  if (options.machine != nullptr && is_native) {
    lower.in_float32 = GraphCosts(*options.machine, model).FasterInFloat32();
  }
  return lower;
}

// What is known of nodes that the library refuses.
struct Refusals {
  const Model& model;
  LowerOptions* lowering;
  std::set<NodeId> do_not_fuse = {};

  // Where the library computes in float32 alone, what no kernel of ours computes runs between casts. Whether that
  // helps.
  bool PutBetweenCasts(NodeId node) {
    const bool is_native = lowering->native_bf16 && !lowering->in_float32[node];
    if (!is_native || OneDnnHasBF16() || !TouchesBFloat16(model, node)) return false;
    lowering->in_float32[node] = true;
    return true;
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

  std::size_t Count() const {
    const auto in_float32 = std::count(lowering->in_float32.begin(), lowering->in_float32.end(), true);
    return lowering->unsupported.size() + do_not_fuse.size() + static_cast<std::size_t>(in_float32);
  }
};

struct ChosenProgram {
  LoweredGraph lowered;
  std::vector<LayerDecision> decisions;
  bool keeps_denormals = false;
};

// The stages before layouts are assigned.
ChosenProgram LowerAndChoose(const Model& model, const CompileOptions& options, const MachineCapabilities& capabilities,
                             const Refusals& refusals, ConstantStore* store) {
  const bool is_fast = options.mode == NumericMode::kFast, is_onednn = options.backend == Backend::kOneDnn;
  // Lower: each node becomes steps as its operator's definition says; later stages do not look at operators.
  ChosenProgram chosen{Lower(model, *refusals.lowering), {}};
  store->AddArrays(chosen.lowered.constants);
  Program& program = chosen.lowered.program;
  chosen.keeps_denormals = std::any_of(program.steps.begin(), program.steps.end(),
                                       [](const Step& step) { return step.alternate.has_value(); });
  // What another plan of this model packed already is a constant now, and is not computed again.
  RemoveKnownConstants(*store, &program);
  // FoldPads: first, because pads stand between what may be fused.
  if (is_fast && is_onednn && PassEnabled("FoldPads")) FoldPads(refusals.do_not_fuse, &program);
  // FusePostOps: before layouts are assigned, so that what is fused has no layout of its own. Constants that it makes
  // (wider slopes) may be known from another plan, too.
  if (is_onednn && PassEnabled("FusePostOps")) FusePostOps(options.mode, refusals.do_not_fuse, &program);
  RemoveKnownConstants(*store, &program);
  // FuseMaps: what is left of elementwise work between primitives becomes one pass over memory.
  if (is_onednn && PassEnabled("FuseMaps")) FuseMaps(options.mode, &program);
  // ChooseKernels: now that it is known what layers do beside, which ours compute faster.
  if (ChoosesKernels(options)) {
    chosen.decisions = ChooseKernels(*options.kernels, capabilities, options.machine.get(), &program,
                                     EffectiveThreads(options.num_threads));
  }
  return chosen;
}

LoweredModel LowerAndLayOut(const Model& model, const CompileOptions& options, ConstantStore* store) {
  const bool chooses = options.mode == NumericMode::kFast && PassEnabled("ChooseLayouts");
  const MachineCapabilities capabilities = CapabilitiesOfThisCpu();
  LowerOptions lower_options = LowerOptionsOf(model, options, capabilities);
  std::vector<std::string> taken;
  lower_options.plan_body = PlannerOf(options, *store, &taken);
  Refusals refusals{model, &lower_options};
  for (;;) {
    auto [lowered, decisions, keeps_denormals] = LowerAndChoose(model, options, capabilities, refusals, store);
    // ChooseLayouts: hints for primitives, now that it is known what they do. Other layouts give other sums.
    if (chooses) ChooseLayouts(OneDnnHasAmx(), &lowered.program);
    // PutForwardFirst: once no stage moves steps any more.
    if (options.num_forward_outputs) PutForwardFirst(*options.num_forward_outputs, &lowered.program);
    // AssignLayouts: primitives choose, reorders become steps.
    const std::size_t num_forward = options.num_forward_outputs.value_or(lowered.program.outputs.size());
    LaidOutProgram program = AssignLayouts(options.mode, std::move(lowered.program), num_forward, *store);
    if (program.unsupported.empty() && program.do_not_fuse.empty()) {
      KeepShared(model, &taken);
      return {std::move(program), std::move(lowered.input_names), std::move(taken), std::move(decisions),
              keeps_denormals,    lower_options.native_bf16};
    }
    // What the library refuses is lowered again, otherwise. That adds at least one node per round, so the loop ends.
    if (!refusals.Add(program)) throw InternalError("a kernel rule lowers a node to what the library refuses");
  }
}

}  // namespace

std::shared_ptr<const Plan> Compile(const Model& model, const CompileOptions& options,
                                    const std::shared_ptr<ConstantStore>& store) {
  const int num_threads = EffectiveThreads(options.num_threads);
  const ThreadScope threads(num_threads);
  const std::lock_guard lock(store->mutex());  // plans of one model are built one after the other

  auto [program, input_names, taken, decisions, keeps_denormals, is_native] =
      LowerAndLayOut(model, options, store.get());
  // FoldConstants: before memory is planned, so that packed weights and their sources take no room in the arena.
  program = FoldConstants(std::move(program), std::move(taken), is_native, store.get());
  // ShareSums: adds the copies that primitives which add to their destination need.
  program = ShareSums(std::move(program));
  // BuildSteps: from here on it is known how much scratch memory each step needs.
  const std::shared_ptr<CompiledPlan> compiled = BuildSteps(&program, {options.machine.get(), options.count_denormals});
  compiled->num_threads = num_threads;
  compiled->keeps_denormals = keeps_denormals;
  // PlanMemory: after it every value has its place.
  PlanMemory(program, compiled.get());

  auto plan = std::make_shared<Plan>();
  plan->input_names = std::move(input_names);
  for (const ValueId v : program.program.inputs) plan->input_types.push_back(program.TypeOf(v));
  for (const NodeEntry& output : model.graph().outputs()) {
    plan->output_types.push_back(model.types()[model.graph().EntryOf(output)]);
  }
  const std::size_t in_bodies = options.bodies != nullptr ? options.bodies->constant_bytes() : 0;
  plan->summary = Summarise(model.graph(), program, *compiled, store->bytes() + program.own_constant_bytes + in_bodies);
  plan->features = FeaturesOf(program);
  plan->decisions = std::move(decisions);
  plan->products = ProductNodesOf(model.graph(), model.types(), program);
  plan->compiled = compiled;
  DumpText("plan", [&] { return plan->summary.Print(); });
  if (EnvFlag("AMP_VERBOSE")) fmt::print(stderr, "{}", plan->summary.Print());
  return plan;
}

std::vector<LayerDecision> ChooseWithoutPlan(const Model& model, const CompileOptions& options,
                                             const MachineCapabilities& capabilities, ConstantStore* store) {
  LowerOptions lower_options = LowerOptionsOf(model, options, capabilities);
  return LowerAndChoose(model, options, capabilities, Refusals{model, &lower_options}, store).decisions;
}

std::size_t BytesOf(const ConstantStore& store) { return store.bytes(); }

NDArray ParameterArray(const std::string& name, const TensorType& type, const ConstantStore& store) {
  const PackedConstant* constant = store.Find(name, PlainDesc(type));
  if (constant == nullptr) Throw<InternalError>("the parameter '{}' of a body is not held any more", name);
  return NDArray(type, const_cast<void*>(constant->data.get()), constant->data);
}

std::shared_ptr<ConstantStore> NewConstantStore(const ModelParams& params) {
  std::map<std::string, NDArray> arrays;
  for (const NDArrayMap* group : {&params.args, &params.aux}) {
    for (const auto& [name, array] : *group) arrays.emplace(ParameterKey(name), array);
  }
  auto store = std::make_shared<ConstantStore>();
  store->AddArrays(arrays);
  return store;
}

}  // namespace amp::onednn
