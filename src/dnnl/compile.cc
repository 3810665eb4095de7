// The story of a plan, one call per stage.
#include "dnnl/compile.h"

#include <utility>

#include "dnnl/fuse_post_ops.h"
#include "dnnl/plan_builder.h"
#include "nnvm/dump.h"
#include "nnvm/env.h"
#include "nnvm/error.h"
#include "passes/pipeline.h"
#include "program/choose_layouts.h"
#include "program/lowering.h"
#include "program/threads.h"

namespace amp::onednn {

std::shared_ptr<const Plan> Compile(const Graph& graph, const Types& types, const std::set<std::string>& parameters,
                                    const CompileOptions& options, const std::shared_ptr<ConstantStore>& store) {
  const int num_threads = EffectiveThreads(options.num_threads);
  const ThreadScope threads(num_threads);
  const std::lock_guard lock(store->mutex());  // plans of one model are built one after the other
  LowerOptions lower_options{options.backend == Backend::kReference, HasNativeBF16(), {}};
  const bool chooses = options.mode == NumericMode::kFast && PassEnabled("ChooseLayouts");
  const bool fuses = PassEnabled("FusePostOps") && options.backend == Backend::kOneDnn;
  std::set<NodeId> apart;  // nodes that must not be fused: the library refused it
  LoweredGraph lowered;
  LaidOutProgram laid_out;
  do {
    // Lower: each node becomes steps as its card says; from here on nobody looks at operators.
    lowered = Lower(graph, types, parameters, lower_options);
    store->AddArrays(lowered.constants);
    // What another plan of this model packed already is a constant now, and is not computed again.
    RemoveKnownConstants(*store, &lowered.program);
    // FusePostOps: before layouts are assigned, so that what is fused has no layout of its own.
    // Constants that it makes (wider slopes) may be known from another plan, too.
    if (fuses) FusePostOps(options.mode, apart, &lowered.program);
    RemoveKnownConstants(*store, &lowered.program);
    // ChooseLayouts: what primitives should wish for, now that it is known what they do. Other layouts, other sums.
    if (chooses) ChooseLayouts(&lowered.program);
    // AssignLayouts: primitives choose, reorders become steps. Nodes for which the library has no primitive are lowered
    // again, to their reference kernels; that adds at least one refusal per round, so the loop ends.
    laid_out = AssignLayouts(options.mode, lowered.program, *store);
    lower_options.refused.insert(laid_out.refused.begin(), laid_out.refused.end());
    apart.insert(laid_out.apart.begin(), laid_out.apart.end());
  } while (!laid_out.refused.empty() || !laid_out.apart.empty());

  PlanBuilder builder(std::move(laid_out), store.get());
  // FoldConstants: before memory is planned, so that packed weights and their sources take no room in the arena.
  builder.FoldConstants();
  // PlanMemory: after it every value has its place.
  builder.PlanMemory();
  builder.BuildPrimitives();

  auto plan = std::make_shared<Plan>();
  plan->input_names = lowered.input_names;
  for (const ValueId v : lowered.program.inputs) plan->input_types.push_back(lowered.program.values[v].type);
  for (const NodeEntry& head : graph.outputs()) plan->output_types.push_back(types[graph.EntryOf(head)]);
  plan->summary = builder.Summarise(graph);
  plan->summary.num_threads = num_threads;
  builder.plan()->num_threads = num_threads;
  plan->compiled = builder.plan();
  DumpText("plan", [&] { return plan->summary.Print(); });
  if (EnvFlag("AMP_VERBOSE")) fmt::print(stderr, "{}", plan->summary.Print());
  return plan;
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

std::string PlanSummary::Print() const {
  std::string text = fmt::format(
      "plan: {} steps, {}{} threads, arena {} bytes, constants {} bytes, {} reorders, {} nodes on "
      "reference kernels\n",
      steps.size(), num_threads > 1 ? "up to " : "", num_threads, arena_bytes, constant_bytes, num_reorders,
      num_references);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PlanStep& step = steps[i];
    const std::string fused = step.fused.empty() ? "" : " + " + JoinSome(step.fused, 99);
    text += fmt::format("{:4} {:14} {:24} {:8} {}{}{}\n", i, step.work, step.implementation, step.layout, step.node,
                        fused, step.reason.empty() ? "" : "  (" + step.reason + ")");
  }
  return text;
}

}  // namespace amp::onednn
