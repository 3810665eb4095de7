#include <chrono>
#include <cstring>
#include <optional>

#include "dnnl/attention_step.h"
#include "dnnl/compiled_plan.h"
#include "nnvm/error.h"
#include "program/kernel_types.h"
#include "program/threads.h"

namespace amp::onednn {
namespace {

NDArray ViewOf(const CompiledPlan& plan, ValueId v, void* data) { return NDArray(plan.types[v], data, nullptr); }

void RunCall(const CallWork& work, const CompiledStep& step, const CompiledPlan& plan, const std::vector<void*>& data) {
  std::vector<NDArray> inputs, outputs;
  for (const ValueId v : step.inputs) inputs.push_back(ViewOf(plan, v, data[v]));
  for (const ValueId v : step.outputs) outputs.push_back(ViewOf(plan, v, data[v]));
  work.function(inputs, outputs);
}

// Where the elements of a value begin: a view need not begin where its memory does.
void* Begin(const CompiledPlan& plan, ValueId v, const std::vector<void*>& data) {
  return static_cast<char*>(data[v]) + plan.first_bytes[v];
}

}  // namespace

void RunOwnKernel(const CompiledStep& step, const CompiledPlan& plan, const std::vector<void*>& data) {
  if (const auto* call = std::get_if<CallWork>(&step.work)) return RunCall(*call, step, plan, data);
  if (std::holds_alternative<AttentionWork>(step.work)) return RunAttention(step, plan, data);
  const ValueId in = step.inputs[0];
  const ValueId out = step.outputs[0];
  if (std::holds_alternative<ScaleShiftWork>(step.work)) {
    kernels::ScaleShift job = step.scale_shift;
    job.scale = static_cast<const float*>(data[step.inputs[1]]);
    job.shift = static_cast<const float*>(data[step.inputs[2]]);
    return kernels::Run(job, Begin(plan, in, data), Begin(plan, out, data));
  }
  const std::size_t bytes = plan.layouts[in].get_size();
  if (std::holds_alternative<CastWork>(step.work)) {
    // On the memory as it lies, padding included: both sides have the same layout.
    const DType from = plan.types[in].dtype;
    kernels::Cast(KernelType(from), data[in], KernelType(plan.types[out].dtype), data[out], bytes / BytesOf(from));
  } else if (bytes != 0) {
    std::memcpy(data[out], data[in], bytes);
  }
}

struct Session::State {
  explicit State(std::shared_ptr<const Plan> shared) : plan(std::move(shared)), compiled(*plan->compiled) {
    arena = AllocateAligned(compiled.arena_bytes);
    data.resize(compiled.types.size());
    memories.resize(compiled.types.size());
    for (const CompiledStep& step : compiled.steps) Bind(step);
  }

  void Bind(const CompiledStep& step) {
    for (const ValueId v : step.inputs) Locate(v);
    for (const ValueId v : step.outputs) Locate(v);
    std::vector<dnnl_exec_arg_t> bound;
    for (const auto& [arg, v] : step.args) {
      Locate(v);
      bound.push_back({arg, memories[v].get()});
    }
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

  void RunStep(std::size_t i) {
    const CompiledStep& step = compiled.steps[i];
    if (step.primitive) {
      Execute(step, arguments[i]);
    } else {
      RunOwnKernel(step, compiled, data);
    }
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
  std::vector<void*> data;                                       // by value
  std::vector<dnnl::memory> memories;                            // by value
  std::vector<std::vector<dnnl_exec_arg_t>> arguments;           // by step; the memories are those above
  std::vector<std::pair<ValueId, std::size_t>> inputs, outputs;  // values in callers' memory
};

Session::Session(std::shared_ptr<const Plan> plan) : state_(std::make_unique<State>(std::move(plan))) {}
Session::~Session() = default;

void Session::Run(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs) {
  State& state = *state_;
  RequireThreads(state.compiled.num_threads);
  const ThreadScope threads(state.compiled.num_threads);
  state.SetArrays(inputs, outputs);
  for (std::size_t i = 0; i < state.compiled.steps.size(); ++i) state.RunStep(i);
  state.stream.wait();
}

void Session::RunProfiled(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs,
                          std::vector<double>* seconds) {
  State& state = *state_;
  RequireThreads(state.compiled.num_threads);
  const ThreadScope threads(state.compiled.num_threads);
  seconds->resize(state.compiled.steps.size());
  state.SetArrays(inputs, outputs);
  for (std::size_t i = 0; i < state.compiled.steps.size(); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    state.RunStep(i);
    state.stream.wait();
    (*seconds)[i] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
}

}  // namespace amp::onednn
