#include "runtime/gradient_executor.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "dnnl/clock.h"
#include "dnnl/session.h"
#include "nnvm/error.h"
#include "passes/gradient/gradient.h"
#include "passes/gradient/recompute.h"
#include "passes/gradient/use_training_forms.h"
#include "passes/pipelines.h"
#include "program/reference_runner.h"
#include "program/threads.h"
#include "runtime/bind.h"
#include "runtime/check_arrays.h"
#include "runtime/executor_options.h"
#include "runtime/operator_runner.h"
#include "runtime/profile_recorder.h"
#include "runtime/run_lock.h"

namespace amp {

using onednn::Half;

namespace {

std::string NameOfOutputGradient(std::size_t i) { return fmt::format("__output_gradient_{}__", i); }

// What the options of inference ask for and training does not have.
void RequireForTraining(const BindOptions& options) {
  if (options.tune) throw ArgumentError("tune: gradients are computed by plans that are not tuned");
  if (options.monitor) throw ArgumentError("monitor: runs with gradients cannot be monitored");
  if (!options.forced_kernel.empty()) throw ArgumentError("forced_kernel: not for runs with gradients");
}

TypeMap TypesOfVariables(const Symbol& symbol, const TypeMap& given) {
  TypeMap types;
  for (const std::string& name : symbol.ListInputs()) {
    if (const auto found = given.find(name); found != given.end()) types.insert(*found);
  }
  return types;
}

// Adds the types that follow from the others, such as those of labels.
TypeMap Completed(const Symbol& symbol, const TypeMap& given) {
  const Graph graph = symbol.ToGraph();
  const Types types = InferPartial(graph, TypesOfVariables(symbol, given));
  TypeMap completed = given;
  for (const NodeId id : graph.variables()) {
    const TensorType& type = types[graph.EntryOf(id, 0)];
    if (type.fully_known()) completed.emplace(graph.node(id).name(), type);
  }
  return completed;
}

// The types of the symbol's outputs, in their order.
std::vector<TensorType> OutputTypes(const Symbol& symbol, const TypeMap& variable_types) {
  const Graph graph = symbol.ToGraph();
  const Types types = Infer(graph, VariableTypes(graph, {}, TypesOfVariables(symbol, variable_types)));
  std::vector<TensorType> outputs;
  for (const NodeEntry& output : graph.outputs()) outputs.push_back(types[graph.EntryOf(output)]);
  return outputs;
}

// What the passes before the gradient make of a graph in training form.
Graph Prepared(const Graph& graph, const TypeMap& variable_types, NumericMode mode) {
  Preparation preparation{Model(graph, TypesOfVariables(Symbol(graph.outputs()), variable_types)), mode,
                          ReferenceRunner()};
  PrepareForGradients(preparation);
  return preparation.model.graph();
}

GradientGraph GraphOf(const Symbol& symbol, const std::vector<std::string>& differentiated,
                      const TypeMap& variable_types, const GradientBindOptions& bind) {
  GradientOptions options{bind.is_train, {}};
  if (bind.bind.backend != Backend::kReference) {
    options.prepare = [&](const Graph& graph) { return Prepared(graph, variable_types, bind.bind.mode); };
  }
  for (std::size_t i = 0; i < symbol.outputs().size(); ++i) {
    options.output_gradients.push_back(Symbol::Variable(NameOfOutputGradient(i)));
  }
  return MakeGradientGraph(symbol, differentiated, options);
}

// Computes so much again that what is kept for the backward pass fits into the budget.
GradientGraph FitMemoryBudget(GradientGraph graph, const TypeMap& variable_types, std::int64_t budget) {
  return MapGraph(std::move(graph), [&](const Graph& joint) {
    const Types types = Infer(joint, TypesOfVariables(Symbol(joint.outputs()), variable_types));
    return RecomputeToFit(joint, types, budget);
  });
}

}  // namespace

// What all executors of one plan share.
struct GradientExecutor::Binding {
  // Where an input of the plan comes from.
  enum class Source : std::uint8_t { kArray, kOutputGradient, kKey };
  struct Input {
    Source source;
    std::size_t index;  // among the arrays or outputs
  };
  // A variable's gradient.
  struct Variable {
    std::optional<std::size_t> output;  // of the plan; nullopt: zero everywhere
    bool replaces = false;              // whatever was asked for
  };

  Binding(const Symbol& symbol, const TypeMap& variable_types, std::vector<std::string> differentiated,
          const GradientBindOptions& options);

  Symbol symbol, as_converted;
  std::string notice;
  std::vector<std::string> names, gradient_names, output_names, state_names;
  std::vector<TensorType> types, output_types, gradient_types;
  std::vector<Input> inputs;              // by input of the plan
  std::vector<Variable> gradients;        // by differentiated variable
  std::vector<std::size_t> state_places;  // by state: its place among the plan's inputs
  std::vector<std::string> plan_output_names;
  std::size_t first_state = 0;  // among the plan's outputs
  std::shared_ptr<const onednn::Plan> plan;

 private:
  void DescribeInputs();
  void DescribeOutputs(const GradientGraph& graph);
};

GradientExecutor::Binding::Binding(const Symbol& given, const TypeMap& given_types,
                                   std::vector<std::string> differentiated, const GradientBindOptions& options)
    : gradient_names(std::move(differentiated)), output_names(given.ListOutputs()) {
  RequireForTraining(options.bind);
  const ThreadScope threads(EffectiveThreads(options.bind.num_threads));
  const TypeMap variable_types = Completed(given, given_types);
  const std::set<std::string> names_of_gradients(gradient_names.begin(), gradient_names.end());
  onednn::GivenModel model =
      onednn::ConvertForRun(given, {}, TypesOfVariables(given, variable_types), options.bind, names_of_gradients);
  symbol = model.symbol;
  as_converted = model.as_converted;
  notice = model.notice;
  output_types = OutputTypes(symbol, variable_types);
  TypeMap all_types = variable_types;
  for (std::size_t i = 0; i < output_types.size(); ++i) all_types[NameOfOutputGradient(i)] = output_types[i];
  all_types[kRandomKey] = {DType::kInt64, Shape{2}};
  GradientGraph graph = GraphOf(symbol, gradient_names, all_types, options);
  if (options.memory_budget) graph = FitMemoryBudget(std::move(graph), all_types, *options.memory_budget);
  model.symbol = Symbol(JointGraph(graph).outputs(), symbol.np_shape());

  onednn::CompileOptions compile = onednn::CompileOptionsFor(options.bind, model.machine);
  compile.num_forward_outputs = output_types.size();
  plan = onednn::MakePlan(onednn::BindModel(model, TypesOfVariables(model.symbol, all_types), compile));
  const TypeMap types_by_name = VariableTypes(symbol.ToGraph(), {}, TypesOfVariables(symbol, variable_types));
  for (const std::string& name : gradient_names) gradient_types.push_back(types_by_name.at(name));
  DescribeInputs();
  DescribeOutputs(graph);
}

void GradientExecutor::Binding::DescribeInputs() {
  std::map<std::string, Input> special{{kRandomKey, {Source::kKey, 0}}};
  for (std::size_t i = 0; i < output_types.size(); ++i) special[NameOfOutputGradient(i)] = {Source::kOutputGradient, i};
  for (std::size_t i = 0; i < plan->input_names.size(); ++i) {
    const std::string& name = plan->input_names[i];
    if (const auto found = special.find(name); found != special.end()) {
      inputs.push_back(found->second);
      continue;
    }
    inputs.push_back({Source::kArray, names.size()});
    names.push_back(name);
    types.push_back(plan->input_types[i]);
  }
}

// In the order of JointGraph: the gradients from the last variable to the first.
void GradientExecutor::Binding::DescribeOutputs(const GradientGraph& graph) {
  plan_output_names = output_names;
  gradients.resize(graph.gradients.size());
  for (std::size_t i = gradients.size(); i-- > 0;) {
    const auto& [name, gradient] = graph.gradients[i];
    if (!gradient) continue;
    gradients[i] = {plan_output_names.size(), ReplacesGradient(*gradient)};
    plan_output_names.push_back("gradient of " + name);
  }
  first_state = plan_output_names.size();
  for (const auto& [name, entry] : graph.states) {
    const std::vector<std::string>& known = plan->input_names;
    state_names.push_back(name);
    state_places.push_back(static_cast<std::size_t>(std::find(known.begin(), known.end(), name) - known.begin()));
    plan_output_names.push_back(name);
  }
}

// The memory of one executor, and the forward run that waits for its backward run.
struct GradientExecutor::Pending {
  explicit Pending(const Binding& binding) : session(binding.plan), outputs(binding.plan->output_types.size()) {
    inputs.resize(binding.plan->input_types.size());
    for (std::size_t i = binding.first_state; i < outputs.size(); ++i) {
      const TensorType& type = binding.plan->output_types[i];
      outputs[i] = NDArray(type.dtype, type.shape);
    }
  }

  enum class State : std::uint8_t { kNothing, kForwardDone, kForwardAgain };

  void RenewOutputs(const Binding& binding);
  void SetArrays(const Binding& binding, const std::vector<NDArray>& arrays, const RandomKey& key);
  void SetOutputGradients(const Binding& binding, const std::vector<NDArray>& given);
  // Gradients that replace what is there are written in place.
  void SetTargets(const Binding& binding, const std::vector<GradientTarget>& targets);
  void AddToTargets(const Binding& binding, const std::vector<GradientTarget>& targets);
  void MoveStates(const Binding& binding);
  NDArray OnesLike(const NDArray& array) { return operators.Run({"ones_like", {}, 1, {}}, {array})[0]; }

  onednn::Session session;
  std::vector<NDArray> inputs, outputs;  // of the plan
  State state = State::kNothing;
  OperatorRunner operators{64};
  onednn::RunLock lock;
};

GradientExecutor::GradientExecutor(const Symbol& symbol, const TypeMap& variable_types,
                                   const std::vector<std::string>& differentiated, const GradientBindOptions& options)
    : GradientExecutor(std::make_shared<const Binding>(symbol, variable_types, differentiated, options)) {}

GradientExecutor::GradientExecutor(std::shared_ptr<const Binding> binding)
    : binding_(std::move(binding)), pending_(std::make_unique<Pending>(*binding_)) {}

GradientExecutor::~GradientExecutor() = default;

std::unique_ptr<GradientExecutor> GradientExecutor::Clone() const {
  return std::unique_ptr<GradientExecutor>(new GradientExecutor(binding_));
}

const std::vector<std::string>& GradientExecutor::input_names() const { return binding_->names; }
const std::vector<TensorType>& GradientExecutor::input_types() const { return binding_->types; }
const std::vector<std::string>& GradientExecutor::output_names() const { return binding_->output_names; }
const std::vector<TensorType>& GradientExecutor::output_types() const { return binding_->output_types; }
const std::vector<std::string>& GradientExecutor::gradient_names() const { return binding_->gradient_names; }
const std::vector<TensorType>& GradientExecutor::gradient_types() const { return binding_->gradient_types; }
std::vector<bool> GradientExecutor::gradient_replaces() const {
  std::vector<bool> replaces;
  for (const Binding::Variable& variable : binding_->gradients) replaces.push_back(variable.replaces);
  return replaces;
}
const std::vector<std::string>& GradientExecutor::state_names() const { return binding_->state_names; }
const std::string& GradientExecutor::notice() const { return binding_->notice; }
const Symbol& GradientExecutor::symbol() const { return binding_->symbol; }
const Symbol& GradientExecutor::symbol_as_converted() const { return binding_->as_converted; }
const PlanSummary& GradientExecutor::summary() const { return binding_->plan->summary; }

// ---- runs ----

namespace {

void ThrowIfAny(const std::string& problems) {
  if (!problems.empty()) Throw<ArgumentError>("the arrays do not fit the bound model:{}", problems);
}

void CopyArray(const NDArray& from, const NDArray& to) {
  if (from.bytes() != 0) std::memcpy(to.data(), from.data(), static_cast<std::size_t>(from.bytes()));
}

void RequireInputs(const std::vector<std::string>& names, const std::vector<TensorType>& types,
                   const std::vector<NDArray>& arrays) {
  if (arrays.size() != names.size()) {
    Throw<ArgumentError>("expected {} arrays ({}), got {}", names.size(), JoinSome(names), arrays.size());
  }
  std::string problems;
  for (std::size_t i = 0; i < names.size(); ++i) onednn::CheckArray("input", names[i], arrays[i], types[i], &problems);
  ThrowIfAny(problems);
}

}  // namespace

void GradientExecutor::Pending::SetArrays(const Binding& binding, const std::vector<NDArray>& arrays,
                                          const RandomKey& key) {
  for (std::size_t i = 0; i < binding.inputs.size(); ++i) {
    const auto& [source, index] = binding.inputs[i];
    if (source == Binding::Source::kArray) inputs[i] = arrays[index];
    if (source != Binding::Source::kKey) continue;
    inputs[i] = NDArray(DType::kInt64, Shape{2});
    inputs[i].As<std::int64_t>()[0] = key.seed;
    inputs[i].As<std::int64_t>()[1] = key.run;
  }
  RenewOutputs(binding);
}

// Allocates new arrays: those of the last run belong to whom they were handed to.
void GradientExecutor::Pending::RenewOutputs(const Binding& binding) {
  for (std::size_t i = 0; i < binding.output_types.size(); ++i) {
    outputs[i] = NDArray(binding.output_types[i].dtype, binding.output_types[i].shape);
  }
}

void GradientExecutor::Pending::SetOutputGradients(const Binding& binding, const std::vector<NDArray>& given) {
  const std::size_t count = binding.output_types.size();
  if (!given.empty() && given.size() != count) {
    Throw<ArgumentError>("expected gradients of {} outputs ({}), got {}", count, JoinSome(binding.output_names),
                         given.size());
  }
  std::string problems;
  for (const auto& [source, index] : binding.inputs) {  // positions, such as those of argmax, have no gradient
    if (source != Binding::Source::kOutputGradient || given.empty() || !given[index].defined()) continue;
    onednn::CheckArray("gradient of output", binding.output_names[index], given[index], binding.output_types[index],
                       &problems);
  }
  ThrowIfAny(problems);
  for (std::size_t i = 0; i < binding.inputs.size(); ++i) {
    const auto& [source, index] = binding.inputs[i];
    if (source != Binding::Source::kOutputGradient) continue;
    inputs[i] = !given.empty() && given[index].defined() ? given[index] : OnesLike(outputs[index]);
  }
}

void GradientExecutor::Pending::SetTargets(const Binding& binding, const std::vector<GradientTarget>& targets) {
  if (targets.size() != binding.gradients.size()) {
    Throw<ArgumentError>("expected {} arrays of gradients ({}), got {}", binding.gradients.size(),
                         JoinSome(binding.gradient_names), targets.size());
  }
  std::string problems;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const TensorType& type = binding.gradient_types[i];
    onednn::CheckArray("gradient of", binding.gradient_names[i], targets[i].array, type, &problems);
    const auto& [output, replaces] = binding.gradients[i];
    if (!output) continue;
    outputs[*output] = targets[i].adds && !replaces ? NDArray(type.dtype, type.shape) : targets[i].array;
  }
  ThrowIfAny(problems);
}

void GradientExecutor::Pending::AddToTargets(const Binding& binding, const std::vector<GradientTarget>& targets) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto& [output, replaces] = binding.gradients[i];
    const auto& [array, adds] = targets[i];
    if (!output && !adds && array.bytes() != 0) std::memset(array.data(), 0, static_cast<std::size_t>(array.bytes()));
    if (!output || !adds || replaces) continue;
    CopyArray(operators.Run({"elemwise_add", {}, 2, {}}, {array, outputs[*output]})[0], array);
    outputs[*output] = {};
  }
}

void GradientExecutor::Pending::MoveStates(const Binding& binding) {
  for (std::size_t i = 0; i < binding.state_places.size(); ++i) {
    CopyArray(outputs[binding.first_state + i], inputs[binding.state_places[i]]);
  }
}

std::vector<NDArray> GradientExecutor::Forward(const std::vector<NDArray>& inputs, const RandomKey& key) {
  RequireInputs(binding_->names, binding_->types, inputs);
  RequireThreads(binding_->plan->summary.num_threads);  // before the lock: a child process may find it held for good
  const onednn::RunLock::Holder lock(&pending_->lock);
  pending_->state = Pending::State::kNothing;
  pending_->SetArrays(*binding_, inputs, key);
  pending_->session.Run(pending_->inputs, pending_->outputs, Half::kForward);
  pending_->state = Pending::State::kForwardDone;
  return {pending_->outputs.begin(), pending_->outputs.begin() + std::ssize(binding_->output_types)};
}

// Tells outputs of the plan as the targets that they are.
std::function<void(std::size_t)> GradientExecutor::ByTarget(const Binding& binding,
                                                            const std::vector<GradientTarget>& targets,
                                                            const GradientObserver& observer) {
  if (!observer) return nullptr;
  return [&](std::size_t output) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const Binding::Variable& variable = binding.gradients[i];
      if (variable.output == output && (!targets[i].adds || variable.replaces)) observer(i);
    }
  };
}

void GradientExecutor::Backward(const std::vector<NDArray>& output_gradients,
                                const std::vector<GradientTarget>& gradients, bool retain,
                                const GradientObserver& observer) {
  RequireThreads(binding_->plan->summary.num_threads);
  const onednn::RunLock::Holder lock(&pending_->lock);
  Pending& pending = *pending_;
  if (pending.state == Pending::State::kNothing) {
    throw ArgumentError(
        "no forward run awaits its gradients: call forward with is_train=True first, once for each "
        "backward, or retain");
  }
  pending.SetOutputGradients(*binding_, output_gradients);
  pending.SetTargets(*binding_, gradients);
  onednn::OverlapChecker().Check(pending.inputs, pending.outputs, binding_->plan_output_names);
  const bool runs_again = pending.state == Pending::State::kForwardAgain;
  if (runs_again) pending.RenewOutputs(*binding_);
  pending.state = Pending::State::kNothing;  // unless all goes well
  pending.session.Run(pending.inputs, pending.outputs, runs_again ? Half::kBoth : Half::kBackward,
                      ByTarget(*binding_, gradients, observer));
  pending.AddToTargets(*binding_, gradients);
  pending.MoveStates(*binding_);
  if (retain) pending.state = Pending::State::kForwardAgain;
}

std::vector<FlushedCounts> GradientExecutor::TakeFlushedCounts() {
  const onednn::RunLock::Holder lock(&pending_->lock);
  return pending_->session.TakeFlushedCounts();
}

std::vector<AlternateCounts> GradientExecutor::TakeAlternateCounts() {
  const onednn::RunLock::Holder lock(&pending_->lock);
  return pending_->session.TakeAlternateCounts();
}

RunProfile GradientExecutor::Profile(const std::vector<NDArray>& inputs, int runs) {
  if (runs < 1) Throw<ArgumentError>("runs: expected 1 or more, got {}", runs);
  RequireInputs(binding_->names, binding_->types, inputs);
  RequireThreads(binding_->plan->summary.num_threads);
  const onednn::RunLock::Holder lock(&pending_->lock);
  Pending& pending = *pending_;
  pending.state = Pending::State::kNothing;
  pending.SetArrays(*binding_, inputs, {});
  pending.SetOutputGradients(*binding_, {});
  std::vector<GradientTarget> targets;
  for (const TensorType& type : binding_->gradient_types) targets.push_back({NDArray(type.dtype, type.shape), false});
  pending.SetTargets(*binding_, targets);
  ProfileRecorder recorder(binding_->plan);
  for (int i = -1; i < runs; ++i) {
    const auto begin = onednn::Clock::now();
    if (i < 0) {
      pending.session.Run(pending.inputs, pending.outputs);  // finds cold caches
      continue;
    }
    pending.session.RunProfiled(pending.inputs, pending.outputs, &recorder.step_seconds());
    recorder.AddRun(onednn::SecondsSince(begin));
  }
  return recorder.Result();
}

}  // namespace amp
