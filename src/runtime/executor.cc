#include "runtime/executor.h"

#include <malloc.h>

#include <utility>

#include "dnnl/clock.h"
#include "dnnl/session.h"
#include "nnvm/env.h"
#include "nnvm/error.h"
#include "passes/gradient/use_training_forms.h"
#include "program/machine_table.h"
#include "program/threads.h"
#include "runtime/bind.h"
#include "runtime/check_arrays.h"
#include "runtime/executor_options.h"
#include "runtime/find_machine.h"
#include "runtime/plan_file.h"
#include "runtime/profile_recorder.h"
#include "runtime/run_lock.h"
#include "runtime/tune.h"

namespace amp {

using onednn::BoundModel;
using onednn::CompileOptions;

namespace {

// The machine with what timing chose for the model.
std::shared_ptr<const MachineTable> TunedMachine(const onednn::GivenModel& given, const TypeMap& input_types,
                                                 const BindOptions& options) {
  const CompileOptions compile = onednn::CompileOptionsFor(options, given.machine);
  if (options.mode != NumericMode::kFast || compile.backend != Backend::kOneDnn) {
    throw ArgumentError("tune: there is a choice in mode 'fast' on backend 'onednn' only");
  }
  const int num_threads = EffectiveThreads(options.num_threads);
  TunedFilePath(options.machine, num_threads);  // throws before time is spent
  if (given.machine == nullptr) throw ArgumentError("tune: 'emulate' converts without regard to a machine");
  return AddTuned(options.machine, num_threads, onednn::Tune(onednn::BindModel(given, input_types, compile)));
}

// What packing has freed goes back to the system: the heap would keep it, as much again as the weights. Small models
// leave too little to be worth a walk through the heap.
void GiveHeapBack([[maybe_unused]] std::size_t constant_bytes) {
#ifdef __GLIBC__
  constexpr std::size_t kWorthIt = std::size_t{16} << 20;
  if (constant_bytes >= kWorthIt) malloc_trim(0);
#endif
}

}  // namespace

// What a caller's model and options come to.
struct Executor::Parts {
  BoundModel model;
  std::vector<std::string> output_names;
  std::string notice;
  std::shared_ptr<const Parts> monitored;  // null: no monitored runs
  Symbol as_converted = {};
  std::string machine = "any";  // as in BindOptions; "any" where no machine's times decide
  std::string note = {};        // of a plan file
};

struct Executor::State {
  explicit State(Parts given)
      : parts(std::move(given)),
        ignored_names(onednn::IgnoredVariables(parts.model.given.graph())),
        plan(onednn::MakePlan(parts.model)),
        session(plan) {}

  Parts parts;
  std::vector<std::string> ignored_names;
  std::shared_ptr<const onednn::Plan> plan;
  onednn::Session session;
  std::unique_ptr<Executor> monitored = nullptr;  // its outputs: all tensors of the graph, then those of symbol()
  onednn::RunLock run_lock = {};
  onednn::OverlapChecker overlap_checker = {};
  std::shared_ptr<ProfileRecorder> printed_profile = nullptr;  // of all runs, where AMP_PROFILE asks for it
};

Executor::Parts Executor::PartsOf(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                                  const BindOptions& options) {
  const ThreadScope threads(EffectiveThreads(options.num_threads));  // casting parameters may use threads, too
  onednn::GivenModel given = onednn::ConvertForRun(symbol, params, input_types, options);
  const RewriteResult random = UseRandomForms(given.symbol.ToGraph());
  if (random.changed) given.symbol = Symbol(random.graph.outputs(), given.symbol.np_shape());
  if (options.tune) given.machine = TunedMachine(given, input_types, options);
  const CompileOptions compile = onednn::CompileOptionsFor(options, given.machine);
  Parts parts{onednn::BindModel(given, input_types, compile),
              symbol.ListOutputs(),
              given.notice,
              nullptr,
              given.as_converted,
              given.machine == nullptr ? "any" : options.machine};
  if (options.source) {
    ReleaseSources(onednn::ParameterTypes(parts.model.prepared), parts.model.store.get());
    parts.model.constants_again = [symbol, input_types, options] {
      BindOptions again = options;
      again.source = nullptr;
      again.tune = again.monitor = false;
      return PartsOf(symbol, options.source(), input_types, again).model.store;
    };
  }
  if (options.monitor) {
    // Its store is another owner of parameters, and so are the plans of its bodies.
    const CompileOptions separate = onednn::CompileOptionsFor(options, given.machine);
    BoundModel monitored = onednn::BindMonitoredModel(given, input_types, separate);
    std::vector<std::string> names = monitored.symbol.ListOutputs();
    parts.monitored = std::make_shared<const Parts>(Parts{std::move(monitored), std::move(names), "", nullptr, {}});
  }
  return parts;
}

Executor::Executor(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                   const BindOptions& options)
    : Executor(PartsOf(symbol, params, input_types, options)) {}

std::unique_ptr<Executor> Executor::Open(const Symbol& symbol, const std::string& params_file,
                                         const TypeMap& input_types, BindOptions options) {
  // Mapped while they are packed. What steps read as it is there is copied: a file that is cut short takes its pages
  // away.
  options.owns_parameters = true;
  const auto read = [=] { return SplitParamsOf(symbol, LoadParams(params_file, MapRule::kIfOurs), params_file); };
  if (!options.source) options.source = read;
  Parts parts = PartsOf(symbol, read(), input_types, options);
  return std::unique_ptr<Executor>(new Executor(std::move(parts)));
}

void Executor::Save(const std::string& path, const std::string& note) const {
  const Parts& parts = state_->parts;
  if (parts.monitored) throw UnsupportedError("an executor that was made with monitor=True cannot be saved");
  onednn::WritePlanFile(path, {parts.model, parts.as_converted, parts.output_names, parts.machine, note},
                        *state_->plan);
}

std::unique_ptr<Executor> Executor::Load(const std::string& path, std::optional<bool> maps, bool verifies) {
  const MapRule rule = maps.value_or(true) ? MapRule::kIfOurs : MapRule::kNever;
  onednn::SavedModel saved = onednn::ReadPlanFile(path, rule, verifies);
  const ThreadScope threads(saved.model.options.num_threads);
  Parts parts{std::move(saved.model),   std::move(saved.output_names), "", nullptr, std::move(saved.as_converted),
              std::move(saved.machine), std::move(saved.note)};
  return std::unique_ptr<Executor>(new Executor(std::move(parts)));
}

Executor::Executor(Parts parts) : state_(std::make_unique<State>(std::move(parts))) {
  GiveHeapBack(state_->plan->summary.constant_bytes);
  const std::shared_ptr<const Parts>& monitored = state_->parts.monitored;
  if (monitored) state_->monitored.reset(new Executor(*monitored));
  if (EnvFlag("AMP_PROFILE")) state_->printed_profile = NewPrintedProfile(state_->plan);
}

Executor::~Executor() = default;

const std::vector<std::string>& Executor::input_names() const { return state_->plan->input_names; }
const std::vector<TensorType>& Executor::input_types() const { return state_->plan->input_types; }
const std::vector<std::string>& Executor::output_names() const { return state_->parts.output_names; }
const std::vector<TensorType>& Executor::output_types() const { return state_->plan->output_types; }
const std::vector<std::string>& Executor::ignored_names() const { return state_->ignored_names; }
const PlanSummary& Executor::summary() const { return state_->plan->summary; }
const Symbol& Executor::symbol() const { return state_->parts.model.symbol; }
const Symbol& Executor::symbol_as_converted() const { return state_->parts.as_converted; }
const std::string& Executor::note() const { return state_->parts.note; }
const std::string& Executor::notice() const { return state_->parts.notice; }

std::unique_ptr<Executor> Executor::Reshape(const std::map<std::string, Shape>& input_shapes) const {
  const auto reshaped = [&](const Parts& parts, std::shared_ptr<const Parts> monitored) {
    return Parts{onednn::WithShapes(parts.model, input_shapes, input_names()),
                 parts.output_names,
                 parts.notice,
                 std::move(monitored),
                 parts.as_converted,
                 parts.machine,
                 parts.note};
  };
  std::shared_ptr<const Parts> monitored;
  const Parts& own = state_->parts;
  if (own.monitored) monitored = std::make_shared<const Parts>(reshaped(*own.monitored, nullptr));
  return std::unique_ptr<Executor>(new Executor(reshaped(own, std::move(monitored))));
}

std::vector<NDArray> Executor::Run(const std::vector<NDArray>& inputs) {
  std::vector<NDArray> outputs = NewOutputs();
  RunTimed(state_->printed_profile.get(), inputs, outputs);
  return outputs;
}

void Executor::Run(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs) {
  RunTimed(state_->printed_profile.get(), inputs, outputs);
}

std::vector<NDArray> Executor::RunMonitored(const std::vector<NDArray>& inputs, const Monitor& monitor) {
  if (!state_->monitored) {
    throw ArgumentError("the model was not bound for this: pass monitor=True (BindOptions::monitor) when binding");
  }
  const std::vector<NodeEntry> tensors = onednn::OperatorOutputs(symbol().ToGraph());
  onednn::CheckTypes(*state_->plan, output_names(), inputs, NewOutputs());
  std::map<std::string, NDArray> by_name;  // all its tensors are outputs: variables may come in another order
  for (std::size_t i = 0; i < inputs.size(); ++i) by_name[input_names()[i]] = inputs[i];
  std::vector<NDArray> arguments;
  for (const std::string& name : state_->monitored->input_names()) arguments.push_back(by_name.at(name));
  std::vector<NDArray> values = state_->monitored->Run(arguments);
  std::vector<std::string> names;  // of one node's outputs, which follow each other
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Node& node = *tensors[i].node;
    if (i == 0 || tensors[i - 1].node != tensors[i].node) names = node.output_names();
    monitor(node.name() + "_" + names[tensors[i].index], node.op_name(), values[i]);
  }
  return {values.begin() + static_cast<std::ptrdiff_t>(tensors.size()), values.end()};
}

RunProfile Executor::Profile(const std::vector<NDArray>& inputs, int runs) {
  if (runs < 1) Throw<ArgumentError>("runs: expected 1 or more, got {}", runs);
  ProfileRecorder recorder(state_->plan);
  for (int i = -1; i < runs; ++i) {
    std::vector<NDArray> outputs = NewOutputs();
    RunTimed(i < 0 ? nullptr : &recorder, inputs, outputs);  // the first finds cold caches
  }
  return recorder.Result();
}

std::vector<AuditedStep> Executor::AuditLastRun() const {
  const onednn::RunLock::Holder lock(&state_->run_lock);
  return Audit(state_->plan->summary.steps, state_->session.Executed());
}

std::vector<FlushedCounts> Executor::TakeFlushedCounts() {
  const onednn::RunLock::Holder lock(&state_->run_lock);
  return state_->session.TakeFlushedCounts();
}

std::vector<AlternateCounts> Executor::TakeAlternateCounts() {
  const onednn::RunLock::Holder lock(&state_->run_lock);
  return state_->session.TakeAlternateCounts();
}

std::vector<NDArray> Executor::NewOutputs() const {
  std::vector<NDArray> outputs;
  for (const TensorType& type : state_->plan->output_types) outputs.emplace_back(type.dtype, type.shape);
  return outputs;
}

// Steps are timed for a recorder only.
void Executor::RunTimed(ProfileRecorder* recorder, const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs) {
  using onednn::Clock;
  const auto begin = recorder != nullptr ? Clock::now() : Clock::time_point();
  onednn::CheckTypes(*state_->plan, output_names(), inputs, outputs);
  RequireThreads(state_->plan->summary.num_threads);  // before the lock: a child process may find it held for good
  const onednn::RunLock::Holder lock(&state_->run_lock);
  state_->overlap_checker.Check(inputs, outputs, output_names());
  if (recorder == nullptr) return state_->session.Run(inputs, outputs);
  state_->session.RunProfiled(inputs, outputs, &recorder->step_seconds());
  recorder->AddRun(onednn::SecondsSince(begin));
}

}  // namespace amp
