// The story of a plan, one call per stage.
#include "dnnl/compile.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dnnl/compiled_plan.h"
#include "dnnl/lowering.h"
#include "dnnl/memory_plan.h"
#include "dnnl/threads.h"
#include "nnvm/dump.h"
#include "nnvm/env.h"
#include "nnvm/error.h"

namespace amp::onednn {
namespace {

// FoldConstants and BuildPrimitives work on the plan while it grows.
class Builder {
 public:
  Builder(LaidOutProgram laid_out, ConstantStore* store) : laid_out_(std::move(laid_out)), store_(store) {
    plan_->types.reserve(values().size());
    for (const Value& value : values()) plan_->types.push_back(value.type);
    plan_->layouts = laid_out_.layouts;
    plan_->locations.resize(values().size());
    for (ValueId v = 0; v < values().size(); ++v) {
      const Value& value = values()[v];
      if (value.source != ValueSource::kConstant || laid_out_.storage[v] != v) continue;
      plan_->locations[v] = {Place::kConstant, 0, store_->Find(value.name, laid_out_.layouts[v])->data};
    }
    ShareStorage();
  }

  // Runs every step that reads constants only, once, and keeps the results (packed weights, cast parameters).
  void FoldConstants() {
    const std::set<ValueId> heads = HeadStorage();
    std::vector<Step> remaining;
    std::vector<std::optional<PreparedPrimitive>> prepared;
    for (std::size_t i = 0; i < steps().size(); ++i) {
      Step& step = steps()[i];
      const bool constant = !step.outputs.empty() && !heads.contains(step.outputs[0]) &&
                            std::all_of(step.inputs.begin(), step.inputs.end(),
                                        [&](ValueId v) { return laid_out_.IsConstant(v); });
      if (constant) {
        Fold(step, laid_out_.prepared[i]);
      } else {
        remaining.push_back(std::move(step));
        prepared.push_back(std::move(laid_out_.prepared[i]));
      }
    }
    steps() = std::move(remaining);
    laid_out_.prepared = std::move(prepared);
    PruneStore();
  }

  // Gives every computed value its place: callers' memory, or the arena by liveness, in place where legal.
  void PlanMemory() {
    AddScratchpads();
    std::vector<std::size_t> last_use = LastUses();
    for (std::size_t i = 0; i < program().inputs.size(); ++i) {
      plan_->locations[program().inputs[i]] = {Place::kInput, i, nullptr};
    }
    const std::set<ValueId> heads = HeadStorage();
    for (std::size_t i = 0; i < program().outputs.size(); ++i) {
      plan_->locations[Root(program().outputs[i])] = {Place::kOutput, i, nullptr};
    }
    std::vector<Buffer> buffers;
    std::vector<ValueId> owners;
    for (std::size_t i = 0; i < steps().size(); ++i) {
      for (const ValueId output : Written(i)) {
        const ValueId root = Root(output);
        if (heads.contains(root)) continue;
        if (const auto reused = InPlaceOf(i, output, heads, last_use)) {
          laid_out_.storage[root] = *reused;  // everything that shares `root` now shares `*reused`
          last_use[*reused] = std::max(i, last_use[root]);
          buffers[buffer_of_[*reused]].last = last_use[*reused];
          continue;
        }
        buffer_of_[root] = buffers.size();
        owners.push_back(root);
        buffers.push_back({plan_->layouts[root].get_size(), i, std::max(i, last_use[root])});
      }
    }
    const ArenaPlan arena = PlanArena(buffers);
    for (std::size_t i = 0; i < owners.size(); ++i) {
      plan_->locations[owners[i]] = {Place::kArena, arena.offsets[i], nullptr};
    }
    plan_->arena_bytes = arena.bytes;
    ShareStorage();
  }

  void BuildPrimitives() {
    for (std::size_t i = 0; i < steps().size(); ++i) {
      CompiledStep compiled = BuildStep(steps()[i], laid_out_.prepared[i]);
      if (scratchpads_[i]) compiled.args.emplace_back(DNNL_ARG_SCRATCHPAD, *scratchpads_[i]);
      plan_->steps.push_back(std::move(compiled));
    }
  }

  PlanSummary Summarise(const Graph& graph) const {
    PlanSummary summary;
    summary.arena_bytes = plan_->arena_bytes;
    summary.constant_bytes = store_->bytes();
    for (std::size_t i = 0; i < laid_out_.program.steps.size(); ++i) {
      const Step& step = laid_out_.program.steps[i];
      const bool called = std::holds_alternative<CallWork>(step.work);
      const auto& prepared = laid_out_.prepared[i];
      const std::string layout = step.outputs.empty() ? "" : LayoutName(plan_->layouts[step.outputs[0]]);
      summary.steps.push_back({graph.node(step.node).name(), WorkName(step.work),
                               prepared ? prepared->implementation : (called ? "reference" : "own"), layout,
                               step.reason});
      summary.num_references += called;
      summary.num_reorders += std::holds_alternative<ReorderWork>(step.work);
    }
    return summary;
  }

  std::shared_ptr<CompiledPlan> plan() { return plan_; }

 private:
  Program& program() { return laid_out_.program; }
  std::vector<Step>& steps() { return laid_out_.program.steps; }
  const std::vector<Value>& values() const { return laid_out_.program.values; }

  std::set<ValueId> HeadStorage() {
    std::set<ValueId> roots;
    for (const ValueId v : program().outputs) roots.insert(Root(v));
    return roots;
  }

  // The value whose memory v lies in. Paths are shortened on the way, so that long in-place chains stay cheap.
  ValueId Root(ValueId v) {
    std::vector<ValueId>& storage = laid_out_.storage;
    while (storage[v] != v) v = storage[v] = storage[storage[v]];
    return v;
  }

  void ShareStorage() {
    for (ValueId v = 0; v < plan_->locations.size(); ++v) {
      const ValueId root = Root(v);
      if (root != v) plan_->locations[v] = plan_->locations[root];
    }
  }

  static CompiledStep BuildStep(const Step& step, const std::optional<PreparedPrimitive>& prepared) {
    CompiledStep compiled{{}, {}, step.work, step.inputs, step.outputs};
    if (!prepared) return compiled;
    compiled.primitive = BuildPrimitive(*prepared);
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      compiled.args.emplace_back(prepared->input_args[i], step.inputs[i]);
    }
    compiled.args.emplace_back(prepared->output_args[0], step.outputs[0]);
    return compiled;
  }

  void Fold(const Step& step, const std::optional<PreparedPrimitive>& prepared) {
    std::vector<void*> data(values().size());
    for (const ValueId v : step.inputs) data[v] = const_cast<void*>(ConstantData(v));
    for (const ValueId v : step.outputs) {
      std::shared_ptr<void> memory = AllocateAligned(plan_->layouts[v].get_size());
      data[v] = memory.get();
      program().values[v].source = ValueSource::kConstant;
      plan_->locations[v] = {Place::kConstant, 0, memory};
      store_->Add(values()[v].name, {plan_->layouts[v], memory});
    }
    const CompiledStep compiled = BuildStep(step, prepared);
    if (compiled.primitive) {
      Arguments arguments;
      for (const auto& [arg, v] : compiled.args) {
        arguments.emplace(arg, dnnl::memory(plan_->layouts[v], CpuEngine(), data[v]));
      }
      arguments.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(prepared->scratchpad, CpuEngine()));
      dnnl::stream stream(CpuEngine());
      compiled.primitive.execute(stream, arguments);
      stream.wait();
    } else {
      RunOwnKernel(compiled, *plan_, data);
    }
    for (const ValueId v : step.inputs) consumed_.push_back(values()[laid_out_.storage[v]].name);
  }

  const void* ConstantData(ValueId v) const { return plan_->locations[laid_out_.storage[v]].data.get(); }

  // What no remaining step reads is let go of; the arrays that the user passed in among it.
  void PruneStore() {
    ConstantStore::Used used;
    const auto use = [&](ValueId v) {
      if (!laid_out_.IsConstant(v)) return;
      const ValueId root = laid_out_.storage[v];
      used[values()[root].name].push_back(plan_->layouts[root]);
    };
    for (const Step& step : steps()) {
      for (const ValueId v : step.inputs) use(v);
    }
    store_->Prune(used, consumed_);
  }

  void AddScratchpads() {
    for (std::size_t i = 0; i < steps().size(); ++i) {
      const auto& prepared = laid_out_.prepared[i];
      const std::size_t bytes = prepared ? prepared->scratchpad.get_size() : 0;
      scratchpads_.emplace_back();
      if (bytes == 0) continue;
      const TensorType type{DType::kUInt8, Shape{static_cast<std::int64_t>(bytes)}};
      const ValueId v = program().AddValue(type, "scratchpad", ValueSource::kComputed);
      plan_->types.push_back(type);
      plan_->layouts.push_back(prepared->scratchpad);
      plan_->locations.emplace_back();
      laid_out_.storage.push_back(v);
      scratchpads_.back() = v;
    }
  }

  std::vector<ValueId> Written(std::size_t i) {
    std::vector<ValueId> written = steps()[i].outputs;
    if (scratchpads_[i]) written.push_back(*scratchpads_[i]);
    return written;
  }

  std::vector<std::size_t> LastUses() {
    std::vector<std::size_t> last_use(values().size());
    for (std::size_t i = 0; i < steps().size(); ++i) {
      for (const ValueId v : steps()[i].inputs) last_use[Root(v)] = i;
    }
    return last_use;
  }

  // The storage whose bytes output `output` of step i may overwrite: that of the step's first input, if the primitive
  // can work in place, nobody reads the input later and it lies in the arena in the same layout.
  std::optional<ValueId> InPlaceOf(std::size_t i, ValueId output, const std::set<ValueId>& heads,
                                   const std::vector<std::size_t>& last_use) {
    const Step& step = steps()[i];
    const auto& prepared = laid_out_.prepared[i];
    if (!prepared || !prepared->can_run_in_place || output != step.outputs[0]) return std::nullopt;
    const ValueId input = step.inputs[0];
    const ValueId root = Root(input);
    const bool alone = std::count_if(step.inputs.begin(), step.inputs.end(), [&](ValueId v) {
                         return Root(v) == root;
                       }) == 1;
    const bool legal = alone && last_use[root] == i && buffer_of_.contains(root) && !heads.contains(root) &&
                       plan_->layouts[input] == plan_->layouts[output] &&
                       plan_->layouts[root].get_size() == plan_->layouts[output].get_size();
    return legal ? std::optional(root) : std::nullopt;
  }

  LaidOutProgram laid_out_;
  ConstantStore* store_;
  std::shared_ptr<CompiledPlan> plan_ = std::make_shared<CompiledPlan>();
  std::vector<std::optional<ValueId>> scratchpads_;  // by step
  std::map<ValueId, std::size_t> buffer_of_;         // by storage
  std::vector<std::string> consumed_;                // constants that folded steps read
};

}  // namespace

std::shared_ptr<const Plan> Compile(const Graph& graph, const Types& types, const std::set<std::string>& parameters,
                                    const CompileOptions& options, const std::shared_ptr<ConstantStore>& store) {
  const int num_threads = EffectiveThreads(options.num_threads);
  const ThreadScope threads(num_threads);
  LowerOptions lower_options{options.backend == Backend::kReference, HasNativeBF16(), {}};
  LoweredGraph lowered;
  LaidOutProgram laid_out;
  do {
    // Lower: each node becomes steps as its card says; from here on nobody looks at operators.
    lowered = Lower(graph, types, parameters, lower_options);
    store->AddArrays(lowered.constants);
    // What another plan of this model packed already is a constant now, and is not computed again.
    RemoveKnownConstants(*store, &lowered.program);
    // AssignLayouts: primitives choose, reorders become steps. Nodes for which the library has no primitive are lowered
    // again, to their reference kernels; that adds at least one refusal per round, so the loop ends.
    laid_out = AssignLayouts(lowered.program, *store);
    lower_options.refused.insert(laid_out.refused.begin(), laid_out.refused.end());
  } while (!laid_out.refused.empty());

  Builder builder(std::move(laid_out), store.get());
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

std::set<std::string> ParameterNames(const ModelParams& params) {
  std::set<std::string> names;
  for (const NDArrayMap* group : {&params.args, &params.aux}) {
    for (const auto& [name, array] : *group) names.insert(name);
  }
  return names;
}

std::string PlanSummary::Print() const {
  std::string text = fmt::format("plan: {} steps, {} threads, arena {} bytes, constants {} bytes, {} reorders, {} nodes on "
                                 "reference kernels\n",
                                 steps.size(), num_threads, arena_bytes, constant_bytes, num_reorders, num_references);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PlanStep& step = steps[i];
    text += fmt::format("{:4} {:14} {:24} {:8} {}{}\n", i, step.work, step.implementation, step.layout, step.node,
                        step.reason.empty() ? "" : "  (" + step.reason + ")");
  }
  return text;
}

}  // namespace amp::onednn
