#include "dnnl/executor.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "dnnl/engine.h"
#include "nnvm/env.h"
#include "nnvm/error.h"
#include "passes/fusion_mxnet/unfuse.h"
#include "passes/pipeline.h"
#include "passes/pipelines.h"
#include "passes/verify.h"
#include "program/lowering.h"
#include "program/threads.h"

namespace amp::onednn {
namespace {

constexpr const char* kNoNativeBF16 =
    "this CPU has no bfloat16 arithmetic: the model runs in its original precision, which is faster here (convert "
    "it anyway with reduce_precision={'target_dtype': 'bfloat16', 'emulate': True})";
constexpr const char* kFloat16IsStorage =
    "float16 is stored, but computed in float32 between conversions, on a CPU: bfloat16 is the faster choice";

// Whether a model was converted to float16, now or before it was saved.
bool HasFloat16Casts(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const NodePtr& node) {
    if (node->op_name() != "amp_cast") return false;
    const std::string* dtype = node->FindAttr("dtype");
    return dtype != nullptr && *dtype == NameOf(DType::kFloat16);
  });
}

// Variables that a run needs and nobody has given.
void RequireInputs(const Graph& graph, const std::vector<bool>& needed, const std::set<std::string>& parameters,
                   const TypeMap& input_types) {
  std::vector<std::string> missing;
  for (const NodeId id : graph.variables()) {
    const std::string& name = graph.node(id).name();
    if (needed[id] && !parameters.contains(name) && !input_types.contains(name)) missing.push_back(name);
  }
  if (!missing.empty()) {
    Throw<ArgumentError>("neither a parameter array nor an input shape is given for: {}", JoinSome(missing));
  }
}

// Types of all tensors; those behind labels may stay unknown.
Types InferNeeded(const Graph& graph, const std::vector<bool>& needed, const TypeMap& known) {
  Types types = InferPartial(graph, known);
  for (EntryId e = 0; e < types.size(); ++e) {
    if (needed[graph.NodeOf(e)] && !types[e].fully_known()) return Infer(graph, known);  // throws and explains
  }
  return types;
}

// The visible outputs of all operators that a run needs, in graph order.
std::vector<NodeEntry> OperatorOutputs(const Graph& graph) {
  const std::vector<bool> needed = NeededNodes(graph);
  std::vector<NodeEntry> entries;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (!needed[id] || graph.node(id).is_variable()) continue;
    for (int i = 0; i < graph.node(id).num_visible_outputs(); ++i) {
      entries.push_back({graph.nodes()[id], static_cast<std::uint32_t>(i)});
    }
  }
  return entries;
}

using Stretch = Executor::Stretch;

void AddStretches(const std::vector<NDArray>& arrays, bool are_outputs, std::vector<Stretch>* stretches) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const char* begin = arrays[i].As<char>();
    if (arrays[i].bytes() != 0) stretches->push_back({begin, begin + arrays[i].bytes(), i, are_outputs});
  }
}

// Refuses outputs that share bytes with anything else; inputs may share theirs. A model may have thousands of both:
// in the order of their addresses each is compared with what reaches furthest before it. `stretches` is scratch memory.
void RequireSeparateOutputs(const std::vector<NDArray>& inputs, const std::vector<NDArray>& outputs,
                            const std::vector<std::string>& output_names, std::vector<Stretch>* scratch) {
  std::vector<Stretch>& stretches = *scratch;
  stretches.clear();
  AddStretches(inputs, false, &stretches);
  AddStretches(outputs, true, &stretches);
  std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  const Stretch* last_input = nullptr;
  const Stretch* last_output = nullptr;
  for (const Stretch& stretch : stretches) {
    const bool meets_output = last_output != nullptr && last_output->end > stretch.begin;
    const bool meets_input = last_input != nullptr && last_input->end > stretch.begin;
    if (stretch.is_output ? meets_input : meets_output) {
      const std::size_t output = stretch.is_output ? stretch.index : last_output->index;
      Throw<ArgumentError>("output '{}' overlaps an input", output_names[output]);
    }
    if (stretch.is_output && meets_output) {
      const auto [first, second] = std::minmax(stretch.index, last_output->index);
      Throw<ArgumentError>("outputs '{}' and '{}' overlap", output_names[first], output_names[second]);
    }
    const Stretch*& last = stretch.is_output ? last_output : last_input;
    if (last == nullptr || last->end < stretch.end) last = &stretch;
  }
}

// Appends a line for an array that is not exactly what it should be.
void CheckArray(const char* role, const std::string& name, const NDArray& array, const TensorType& expected,
                std::string* problems) {
  if (array.defined() && array.type() == expected) return;
  const std::string got = array.defined() ? array.type().ToString() : "nothing";
  *problems += fmt::format("\n  {} '{}': expected {}, got {}", role, name, expected.ToString(), got);
}

// Says, for as long as it lives, in which process a run is under way.
class RunMark {
 public:
  explicit RunMark(std::atomic<pid_t>* process) : process_(process) { *process_ = getpid(); }
  ~RunMark() { *process_ = 0; }
  RunMark(const RunMark&) = delete;
  RunMark& operator=(const RunMark&) = delete;

 private:
  std::atomic<pid_t>* process_;
};

// Prints what it has collected once nobody uses it any more.
std::shared_ptr<ProfileRecorder> PrintedAtTheEnd(const std::shared_ptr<const Plan>& plan) {
  return {new ProfileRecorder(plan), [](ProfileRecorder* recorder) {
            const std::unique_ptr<ProfileRecorder> owner(recorder);
            if (recorder->num_runs() != 0) fmt::print(stderr, "{}", recorder->Result().Print());
          }};
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Of graph passes, and of the stages of a plan.
std::vector<std::string> NamesOfOptionalPasses() {
  std::vector<std::string> names = OptionalPasses();
  names.insert(names.end(), kOptionalPlanStages.begin(), kOptionalPlanStages.end());
  return names;
}

}  // namespace

Executor::Executor(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                   const BindOptions& options)
    : symbol_(Unfuse(symbol)) {
  compile_options_ = {options.backend ? *options.backend : DefaultBackend(), options.num_threads, options.mode};
  const ThreadScope threads(EffectiveThreads(options.num_threads));  // casting parameters may use threads, too
  output_names_ = symbol.ListOutputs();
  ModelParams arrays = params;
  if (options.reduce_precision) {
    const DType target = options.reduce_precision->target;
    if (target == DType::kBFloat16 && !HasNativeBF16() && !options.reduce_precision->emulate) {
      notice_ = kNoNativeBF16;
    } else {
      ConvertOptions conversion = options.reduce_precision->conversion;
      conversion.target = target;
      conversion.cast_params_offline = true;
      ConvertedModel converted = ConvertModel(symbol, params, input_types, conversion);
      symbol_ = std::move(converted.symbol);
      arrays = std::move(converted.params);
    }
  }
  const Graph graph = symbol_.ToGraph();
  if (notice_.empty() && HasFloat16Casts(graph)) notice_ = kFloat16IsStorage;
  parameters_ = ParameterNames(arrays);
  variable_types_ = VariableTypes(graph, arrays, input_types);
  RequireInputs(graph, NeededNodes(graph), parameters_, input_types);
  if (options.monitor) BindMonitored(arrays);
  Prepare(arrays);
  arrays = {};
  Bind();
}

// The reference backend runs the graph as it is given: everything else is compared with it.
void Executor::Prepare(const ModelParams& params) {
  prepared_ = {symbol_, variable_types_, parameters_};
  if (compile_options_.backend == Backend::kReference) {
    store_ = NewConstantStore(params);
    return;
  }
  CheckDisabledPasses(NamesOfOptionalPasses());
  Preparation preparation{Model(symbol_.ToGraph(), variable_types_, {}, params), compile_options_.mode};
  PrepareModel(preparation);
  const Model& model = preparation.model;
  store_ = NewConstantStore(model.arrays());
  prepared_ = {Symbol(model.graph().outputs(), symbol_.np_shape()), model.variable_types(), model.parameters(), true,
               preparation.assumes_ranks};
}

void Executor::Bind() {
  const Graph given = symbol_.ToGraph();
  const std::vector<bool> needed = NeededNodes(given);
  InferNeeded(given, needed, variable_types_);  // what is wrong is said of the model as it was given
  VerifyAfter("binding", given);
  for (const NodeId id : given.variables()) {
    if (!needed[id]) ignored_names_.push_back(given.node(id).name());
  }
  Graph graph = prepared_.symbol.ToGraph();
  if (prepared_.is_optimized) {
    Preparation preparation{Model(graph, prepared_.variable_types, prepared_.parameters), compile_options_.mode};
    OptimizeForShapes(preparation);
    graph = preparation.model.TakeGraph();
  }
  const Types types = InferNeeded(graph, NeededNodes(graph), prepared_.variable_types);
  plan_ = Compile(graph, types, prepared_.parameters, compile_options_, store_);
  session_ = std::make_unique<Session>(plan_);
  if (EnvFlag("AMP_PROFILE")) printed_profile_ = PrintedAtTheEnd(plan_);
}

// Not bound yet; shares the parameters.
std::unique_ptr<Executor> Executor::WithSymbol(Symbol symbol) const {
  std::unique_ptr<Executor> other(new Executor());
  other->symbol_ = std::move(symbol);
  other->variable_types_ = variable_types_;
  other->parameters_ = parameters_;
  other->compile_options_ = compile_options_;
  other->prepared_ = prepared_;
  other->store_ = store_;
  other->notice_ = notice_;
  return other;
}

// The outputs of every operator are heads: nothing can be fused or left out. The values are those of each node alone.
void Executor::BindMonitored(const ModelParams& params) {
  std::vector<NodeEntry> heads = OperatorOutputs(symbol_.ToGraph());
  heads.insert(heads.end(), symbol_.outputs().begin(), symbol_.outputs().end());
  monitored_ = WithSymbol(Symbol(std::move(heads), symbol_.np_shape()));
  monitored_->output_names_ = monitored_->symbol_.ListOutputs();
  monitored_->compile_options_.mode = NumericMode::kExact;
  monitored_->prepared_ = {monitored_->symbol_, variable_types_, parameters_};
  monitored_->store_ = NewConstantStore(params);  // the other plan lets go of what it has packed
  monitored_->Bind();
}

std::unique_ptr<Executor> Executor::Reshape(const std::map<std::string, Shape>& input_shapes) const {
  std::unique_ptr<Executor> reshaped = WithSymbol(symbol_);
  reshaped->output_names_ = output_names_;
  for (const auto& [name, shape] : input_shapes) {
    if (parameters_.contains(name)) Throw<ArgumentError>("'{}' is a parameter; its shape is that of its array", name);
    const auto found = reshaped->variable_types_.find(name);
    if (found == reshaped->variable_types_.end()) {
      Throw<ArgumentError>("the model has no input '{}'{}", Quotable(name), NearMatches(name, input_names()));
    }
    found->second.shape = shape;
    RequireSameRank(name, shape);
    const auto prepared = reshaped->prepared_.variable_types.find(name);
    if (prepared != reshaped->prepared_.variable_types.end()) prepared->second.shape = shape;
  }
  reshaped->Bind();
  if (monitored_) reshaped->monitored_ = monitored_->Reshape(input_shapes);
  return reshaped;
}

// Which axis is that of the channels may depend on the rank, and batch norms are folded for good.
void Executor::RequireSameRank(const std::string& input, const Shape& shape) const {
  const Shape& bound = variable_types_.at(input).shape;
  if (!prepared_.assumes_ranks || !shape.rank_known() || shape.rank() == bound.rank()) return;
  Throw<UnsupportedError>(
      "'{}' was bound with {} axes ({}), and batch norms were folded for these: build another Executor for the shape "
      "{}",
      Quotable(input), bound.rank(), bound.ToString(), shape.ToString());
}

std::vector<NDArray> Executor::Run(const std::vector<NDArray>& inputs) {
  std::vector<NDArray> outputs = NewOutputs();
  RunIn(printed_profile_.get(), inputs, outputs);
  return outputs;
}

void Executor::Run(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs) {
  RunIn(printed_profile_.get(), inputs, outputs);
}

RunProfile Executor::Profile(const std::vector<NDArray>& inputs, int runs) {
  if (runs < 1) Throw<ArgumentError>("runs: expected 1 or more, got {}", runs);
  ProfileRecorder recorder(plan_);
  for (int i = -1; i < runs; ++i) {
    std::vector<NDArray> outputs = NewOutputs();
    RunIn(i < 0 ? nullptr : &recorder, inputs, outputs);  // the first finds cold caches
  }
  return recorder.Result();
}

void Executor::CheckArrays(const std::vector<NDArray>& inputs, const std::vector<NDArray>& outputs) const {
  if (inputs.size() != plan_->input_types.size() || outputs.size() != plan_->output_types.size()) {
    Throw<ArgumentError>("expected {} inputs ({}) and {} outputs, got {} and {}", plan_->input_types.size(),
                         JoinSome(plan_->input_names), plan_->output_types.size(), inputs.size(), outputs.size());
  }
  std::string problems;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CheckArray("input", plan_->input_names[i], inputs[i], plan_->input_types[i], &problems);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    CheckArray("output", output_names_[i], outputs[i], plan_->output_types[i], &problems);
  }
  if (!problems.empty()) Throw<ArgumentError>("the arrays do not fit the bound model:{}", problems);
}

std::vector<NDArray> Executor::NewOutputs() const {
  std::vector<NDArray> outputs;
  for (const TensorType& type : plan_->output_types) outputs.emplace_back(type.dtype, type.shape);
  return outputs;
}

// Steps are timed for a recorder only.
void Executor::RunIn(ProfileRecorder* recorder, const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs) {
  using Clock = std::chrono::steady_clock;
  const auto begin = recorder != nullptr ? Clock::now() : Clock::time_point();
  CheckArrays(inputs, outputs);
  RequireThreads(plan_->summary.num_threads);
  RequireLivingRun();
  const std::lock_guard lock(*mutex_);
  RequireSeparateOutputs(inputs, outputs, output_names_, &stretches_);
  const RunMark mark(&running_process_);
  if (recorder == nullptr) return session_->Run(inputs, outputs);
  session_->RunProfiled(inputs, outputs, &step_seconds_);
  recorder->Add(step_seconds_, SecondsSince(begin));
}

std::vector<NDArray> Executor::RunMonitored(const std::vector<NDArray>& inputs, const Monitor& monitor) {
  if (!monitored_) {
    throw ArgumentError("the model was not bound for this: pass monitor=True (BindOptions::monitor) when binding");
  }
  const std::vector<NodeEntry> tensors = OperatorOutputs(symbol_.ToGraph());
  std::vector<NDArray> values = monitored_->Run(inputs);
  std::vector<std::string> names;  // of one node's outputs, which follow each other
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Node& node = *tensors[i].node;
    if (i == 0 || tensors[i - 1].node != tensors[i].node) names = node.output_names();
    monitor(node.name() + "_" + names[tensors[i].index], node.op_name(), values[i]);
  }
  return {values.begin() + static_cast<std::ptrdiff_t>(tensors.size()), values.end()};
}

// A child that was forked during a run inherits the lock, but not the thread that holds it.
void Executor::RequireLivingRun() const {
  const pid_t running = running_process_;
  if (running != 0 && running != getpid()) {
    throw Error("this process was forked while the executor was running: build a new Executor in the child");
  }
}

Backend BackendFromName(const std::string& name) {
  if (name == "onednn") return Backend::kOneDnn;
  if (name == "reference") return Backend::kReference;
  Throw<ArgumentError>("unknown backend '{}'; expected 'onednn' or 'reference'", Quotable(name));
}

Backend DefaultBackend() { return BackendFromName(EnvValue("AMP_BACKEND", "onednn")); }

bool CpuHasNativeBF16() { return HasNativeBF16(); }

std::string CpuIsaName() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx2_vnni_2:
      return "avx2_vnni_2";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "avx512_core_fp16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    case dnnl::cpu_isa::avx512_core_amx_fp16:
      return "avx512_core_amx_fp16";
    default:
      return "isa_default";
  }
}

std::string OneDnnVersion() {
  const auto* version = dnnl::version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace amp::onednn
