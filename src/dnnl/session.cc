#include "dnnl/session.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "dnnl/clock.h"
#include "dnnl/compiled_plan.h"
#include "dnnl/engine.h"
#include "dnnl/primitive_facts.h"
#include "dnnl/product_nodes.h"
#include "kernels/base/float_mode.h"
#include "nnvm/error.h"
#include "program/threads.h"

namespace amp::onednn {

struct Session::State {
  explicit State(std::shared_ptr<const Plan> shared) : plan(std::move(shared)), compiled(*plan->compiled) {
    arena = AllocateAligned(compiled.arena_bytes);
    data.resize(compiled.layouts.size());
    memories.resize(compiled.layouts.size());
    counts.resize(compiled.steps.size());
    ran.resize(compiled.steps.size());
    for (const CompiledStep& step : compiled.steps) Bind(step);
  }

  void Bind(const CompiledStep& step) {
    for (const ValueId v : step.inputs) Locate(v);
    for (const ValueId v : step.outputs) Locate(v);
    if (step.scratch) Locate(*step.scratch);
    std::vector<dnnl_exec_arg_t> bound;
    for (const auto& [arg, v] : step.args) bound.push_back({arg, memories[v].get()});
    arguments.push_back(std::move(bound));
  }

  void Locate(ValueId v) {
    if (memories[v]) return;
    const Location& location = compiled.locations[v];
    if (location.place == Place::kArena) data[v] = static_cast<char*>(arena.get()) + location.offset;
    if (location.place == Place::kConstant) data[v] = const_cast<void*>(location.data.get());
    if (location.place == Place::kInput) inputs.emplace_back(v, location.offset);
    if (location.place == Place::kOutput) outputs.emplace_back(v, location.offset);
    memories[v] = dnnl::memory(compiled.layouts[v], CpuEngine(), data[v]);
  }

  void SetArrays(const std::vector<NDArray>& input_arrays, std::vector<NDArray>& output_arrays) {
    for (const auto& [v, i] : inputs) SetHandle(v, input_arrays[i].data());
    for (const auto& [v, i] : outputs) SetHandle(v, output_arrays[i].data());
  }

  // The first step of the half, and the one behind its last.
  std::pair<std::size_t, std::size_t> StepsOf(Half half) const {
    return {half == Half::kBackward ? compiled.num_forward_steps : 0,
            half == Half::kForward ? compiled.num_forward_steps : compiled.steps.size()};
  }

  void RunSteps(Half half, const OutputObserver& observer = nullptr) {
    const auto [begin, end] = StepsOf(half);
    if (observer && completed.empty()) FindCompleted();
    const kernels::FloatModeScope mode(Mode());
    for (std::size_t i = begin; i < end; ++i) {
      RunStep(i);
      if (observer) Tell(completed[i], observer);
    }
    stream.wait();
  }

  void Tell(const std::vector<std::size_t>& of_step, const OutputObserver& observer) {
    if (of_step.empty()) return;
    stream.wait();
    for (const std::size_t output : of_step) observer(output);
  }

  void FindCompleted() {
    std::map<std::size_t, std::size_t> last_step;  // by output
    for (std::size_t i = 0; i < compiled.steps.size(); ++i) {
      for (const ValueId v : compiled.steps[i].outputs) {
        if (compiled.locations[v].place == Place::kOutput) last_step[compiled.locations[v].offset] = i;
      }
    }
    completed.resize(compiled.steps.size());
    for (const auto& [output, step] : last_step) completed[step].push_back(output);
  }

  kernels::FloatMode Mode() const {
    return compiled.keeps_denormals ? kernels::FloatMode::KeepsDenormals() : kernels::FloatMode::Current();
  }

  void RunStep(std::size_t i) {
    const CompiledStep& step = compiled.steps[i];
    const Implementation chosen = step.alternate ? step.alternate->Choose(data) : step.implementation;
    ++counts[i][static_cast<std::size_t>(chosen)];
    ran[i] = chosen;
    if (step.alternate && chosen != Implementation::kNative) return RunAlternate(step, chosen);
    if (step.primitive) {
      Execute(step, arguments[i]);
      if (step.compared) flushed[i] += step.compared->CountFlushed(data, stream, &alternate_memory);
      return;
    }
    step.kernel->Run(KernelOperands(step.inputs, step.outputs, data, compiled.first_bytes,
                                    step.scratch ? data[*step.scratch] : nullptr));
  }

  void RunAlternate(const CompiledStep& step, Implementation chosen) {
    const ThreadScope threads(step.num_threads != 0 ? step.num_threads : compiled.num_threads);
    step.alternate->Run(chosen, data, stream, &alternate_memory);
  }

  void Execute(const CompiledStep& step, const std::vector<dnnl_exec_arg_t>& args) {
    std::optional<ThreadScope> threads;
    if (step.num_threads != 0) threads.emplace(step.num_threads);
    const auto status =
        dnnl_primitive_execute(step.primitive.get(), stream.get(), static_cast<int>(args.size()), args.data());
    dnnl::error::wrap_c_api(status, "oneDNN could not run a primitive");
  }

  void SetHandle(ValueId v, void* handle) {
    data[v] = handle;
    memories[v].set_data_handle(handle);
  }

  std::shared_ptr<const Plan> plan;
  const CompiledPlan& compiled;
  dnnl::stream stream{CpuEngine()};
  std::shared_ptr<void> arena;
  std::vector<void*> data;                                       // by value: where its memory begins
  std::vector<dnnl::memory> memories;                            // by value
  std::vector<std::vector<dnnl_exec_arg_t>> arguments;           // by step; the memories are those above
  std::vector<std::pair<ValueId, std::size_t>> inputs, outputs;  // values in callers' memory
  std::vector<RunCounts> counts;                                 // by step
  std::vector<std::optional<Implementation>> ran;                // by step: in its last run
  std::map<std::size_t, Flushed> flushed;                        // by step
  std::vector<std::vector<std::size_t>> completed;               // by step, once asked for: outputs that are final then
  AlternateMemory alternate_memory;
};

Session::Session(std::shared_ptr<const Plan> plan) : state_(std::make_unique<State>(std::move(plan))) {}
Session::~Session() = default;

void Session::Run(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs, Half half,
                  const OutputObserver& observer) {
  State& state = *state_;
  const ThreadScope threads(state.compiled.num_threads);
  state.SetArrays(inputs, outputs);
  state.RunSteps(half, observer);
}

void Session::Run(std::span<const void* const> inputs, std::span<void* const> outputs) {
  State& state = *state_;
  const ThreadScope threads(state.compiled.num_threads);
  for (const auto& [v, i] : state.inputs) state.SetHandle(v, const_cast<void*>(inputs[i]));
  for (const auto& [v, i] : state.outputs) state.SetHandle(v, outputs[i]);
  state.RunSteps(Half::kBoth);
}

std::vector<FlushedCounts> Session::TakeFlushedCounts() {
  const std::map<std::size_t, Flushed> flushed = std::exchange(state_->flushed, {});
  std::vector<FlushedCounts> counts;
  for (const ProductNode& node : state_->plan->products) {
    FlushedCounts of_node{node.name, node.is_backward};
    for (const std::size_t i : node.steps) {
      const auto found = flushed.find(i);
      if (found == flushed.end()) continue;
      of_node.runs = std::max(of_node.runs, found->second.runs);
      of_node.operands += found->second.operands;
      of_node.results += found->second.results;
    }
    if (of_node.runs != 0) counts.push_back(std::move(of_node));
  }
  return counts;
}

std::vector<AlternateCounts> Session::TakeAlternateCounts() {
  const std::vector<RunCounts> counts = std::exchange(state_->counts, std::vector<RunCounts>(state_->counts.size()));
  return CountsOf(state_->plan->products, counts);
}

std::vector<ExecutedStep> Session::Executed() const {
  std::vector<ExecutedStep> executed;
  for (std::size_t i = 0; i < state_->compiled.steps.size(); ++i) {
    const PlanStep& planned = state_->plan->summary.steps[i];
    if (!state_->ran[i]) {
      Throw<ArgumentError>("step {} ('{}') has not run yet: call the executor, then ask what it executed", i,
                           planned.node);
    }
    executed.push_back(onednn::Executed(state_->compiled.steps[i], planned, state_->memories, *state_->ran[i]));
  }
  return executed;
}

void Session::RunProfiled(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs,
                          std::vector<double>* seconds, Half half) {
  State& state = *state_;
  const ThreadScope threads(state.compiled.num_threads);
  seconds->resize(state.compiled.steps.size());
  state.SetArrays(inputs, outputs);
  const auto [first, last] = state.StepsOf(half);
  const kernels::FloatModeScope mode(state.Mode());
  for (std::size_t i = first; i < last; ++i) {
    const auto begin = Clock::now();
    state.RunStep(i);
    state.stream.wait();
    (*seconds)[i] = SecondsSince(begin);
  }
}

}  // namespace amp::onednn
