#include "runtime/bind.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dnnl/cpu_info.h"
#include "nnvm/env.h"
#include "nnvm/error.h"
#include "passes/fusion_mxnet/unfuse.h"
#include "passes/gradient/use_training_forms.h"
#include "passes/pipeline.h"
#include "passes/pipelines.h"
#include "passes/precision/precision_categories.h"
#include "passes/precision/predicted_time.h"
#include "passes/verify.h"
#include "program/convert_model.h"
#include "program/lowering.h"
#include "program/reference_runner.h"
#include "program/revert_unprofitable_casts.h"
#include "program/threads.h"
#include "runtime/find_machine.h"

namespace amp {

Backend BackendFromName(const std::string& name) {
  if (name == "onednn") return Backend::kOneDnn;
  if (name == "reference") return Backend::kReference;
  Throw<ArgumentError>("unknown backend '{}'; expected 'onednn' or 'reference'", Quotable(name));
}

Backend DefaultBackend() { return BackendFromName(EnvValue("AMP_BACKEND", "onednn")); }

}  // namespace amp

namespace amp::onednn {
namespace {

constexpr const char* kNoNativeBF16 =
    "no predicted times decide here, and this CPU has no bfloat16 arithmetic: the model runs in its original precision "
    "(with machine='this' and mode='fast' bfloat16 runs where it is faster; convert it anyway with "
    "reduce_precision={'target_dtype': 'bfloat16', 'emulate': True})";
constexpr const char* kNothingPays =
    "{} does not pay on this machine ({}): the model runs in float32, which is faster here ({})";
constexpr const char* kConvertAnyway = "'emulate': True in reduce_precision converts it anyway";
constexpr const char* kRunAnyway = "machine='any' runs it as it was converted";
constexpr const char* kSomePays =
    "low precision pays for {} of the {} operators of this model that have it, on this machine ({}): the others run in "
    "float32";
constexpr const char* kFloat16IsStorage =
    "float16 is stored, but computed in float32 between conversions, on a CPU: bfloat16 is the faster choice";

void RequireInputTypes(const Graph& graph, const std::set<std::string>& parameters, const TypeMap& input_types) {
  const std::vector<bool> needed = NeededNodes(graph);
  std::vector<std::string> missing;
  for (const NodeId id : graph.variables()) {
    const std::string& name = graph.node(id).name();
    if (needed[id] && !parameters.contains(name) && !input_types.contains(name)) missing.push_back(name);
  }
  if (!missing.empty()) {
    Throw<ArgumentError>("neither a parameter array nor an input shape is given for: {}", JoinSome(missing));
  }
}

const BorrowedMemory* PointerTo(const std::optional<BorrowedMemory>& borrowed) {
  return borrowed ? &*borrowed : nullptr;
}

// The types of all tensors have to be known, but for those behind labels.
void RequireTypes(const Model& model) {
  const Graph& graph = model.graph();
  const std::vector<bool> needed = NeededNodes(graph);
  for (EntryId e = 0; e < graph.num_entries(); ++e) {
    if (!needed[graph.NodeOf(e)] || model.types()[e].fully_known()) continue;
    Infer(graph, model.GraphVariableTypes());  // throws and explains
  }
}

// Whether a model was converted to float16, now or before it was saved.
bool HasFloat16Casts(const Symbol& symbol) {
  const Graph graph = symbol.ToGraph();
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const NodePtr& node) {
    return node->IsOp("amp_cast") && node->Attr<DType>("dtype") == DType::kFloat16;
  });
}

// The names of optional graph passes, and of optional stages of a plan.
std::vector<std::string> NamesOfOptionalPasses() {
  std::vector<std::string> names = OptionalPasses();
  names.insert(names.end(), kOptionalPlanStages.begin(), kOptionalPlanStages.end());
  return names;
}

// Which axis is that of the channels may depend on the rank, and batch norms are folded for good.
void RequireSameRank(const BoundModel& model, const std::string& input, const Shape& shape) {
  const Shape& bound = model.given.variable_types().at(input).shape;
  if (!model.assumes_ranks || !shape.rank_known() || shape.rank() == bound.rank()) return;
  Throw<UnsupportedError>(
      "'{}' was bound with {} axes ({}), and batch norms were folded for these: build another Executor for the shape "
      "{}",
      Quotable(input), bound.rank(), bound.ToString(), shape.ToString());
}

// The type of the random key, where the graph reads it, is known.
TypeMap WithRandomKey(const Graph& graph, TypeMap types) {
  for (const NodeId id : graph.variables()) {
    if (graph.node(id).name() == kRandomKey) types.try_emplace(kRandomKey, TensorType{DType::kInt64, Shape{2}});
  }
  return types;
}

// Binds the model as it is given.
BoundModel Unprepared(const GivenModel& model, const TypeMap& given_types, const CompileOptions& options) {
  Graph graph = model.symbol.ToGraph();
  const TypeMap input_types = WithRandomKey(graph, given_types);
  std::set<std::string> parameters = ParameterNames(model.params);
  TypeMap variable_types = VariableTypes(graph, model.params, input_types);
  RequireInputTypes(graph, parameters, input_types);
  Model given(std::move(graph), std::move(variable_types), std::move(parameters));
  return {model.symbol, given, given, options};
}

// Whether policy and machine together decide what is in low precision.
bool IsDecidedByMachine(const ReduceOptions& options) {
  const ConvertOptions& conversion = options.conversion;
  const bool counts_casts = conversion.minimize == Minimize::kCasts;
  return conversion.policy == PrecisionPolicy::kDefault ||
         (conversion.policy == PrecisionPolicy::kOptimal && !counts_casts);
}

void Convert(const Symbol& symbol, const TypeMap& input_types, const ReduceOptions& options,
             const std::shared_ptr<const MachineTable>& machine,
             const std::optional<std::set<std::string>>& differentiated, GivenModel* model) {
  if (options.target == DType::kBFloat16 && machine == nullptr && !OneDnnHasBF16() && !options.emulate) {
    model->notice = kNoNativeBF16;
    return;
  }
  ConvertOptions conversion = options.conversion;
  conversion.target = options.target;
  conversion.training = conversion.training || differentiated;
  conversion.differentiated = differentiated;
  conversion.cast_params_offline = !conversion.training;
  conversion.machine = IsDecidedByMachine(options) ? machine : nullptr;
  ConvertedModel converted = ConvertModel(symbol, model->params, input_types, conversion);
  const bool is_free = conversion.force.empty() && conversion.output_dtypes.empty();  // the caller asks for nothing
  if (is_free && conversion.machine != nullptr && converted.predicted && !PaysOff(*converted.predicted, *machine))
    return;
  model->symbol = Unfuse(converted.symbol);  // what came fused is fused again
  model->params = std::move(converted.params);
}

// The machine whose times decide; null where dtypes are to be as they are written.
std::shared_ptr<const MachineTable> MachineFor(const BindOptions& options) {
  const Backend backend = options.backend ? *options.backend : DefaultBackend();
  const bool emulates = options.reduce_precision && options.reduce_precision->emulate;
  if (backend == Backend::kReference || emulates) return nullptr;
  return FindMachine(options.machine, EffectiveThreads(options.num_threads));
}

// The nodes that names and patterns stand for.
std::set<std::string> NodesOf(const std::map<std::string, DType>& forced, const Symbol& symbol) {
  std::set<std::string> names;
  const Graph graph = symbol.ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    const auto fits = [&](const auto& entry) { return MatchesGlob(entry.first, node->name()); };
    const bool is_forced = forced.contains(node->name()) || std::any_of(forced.begin(), forced.end(), fits);
    if (is_forced) names.insert(node->name());
  }
  return names;
}

// Runs in float32 what low precision would slow down, and says so; what is watched runs as it was converted.
// `was_converted`: the model came with casts, which no decision takes back.
void Fit(const TypeMap& input_types, const BindOptions& options, const std::shared_ptr<const MachineTable>& machine,
         const std::optional<std::set<std::string>>& differentiated, bool was_converted, GivenModel* model) {
  const auto& reduce = options.reduce_precision;
  if (reduce && !was_converted && IsDecidedByMachine(*reduce)) {
    if (!IsConverted(model->symbol)) {
      const std::string target = NameOf(reduce->target);
      model->notice = fmt::format(kNothingPays, target, machine->name(), kConvertAnyway);
    }
    return;
  }
  if (options.mode != NumericMode::kFast || options.monitor) return;
  const std::set<std::string> kept =
      reduce ? NodesOf(reduce->conversion.force, model->symbol) : std::set<std::string>();
  RevertedModel fitted =
      RevertUnprofitableCasts(model->symbol, model->params, input_types, machine, kept, differentiated);
  if (fitted.low_after < fitted.low_before) {
    model->notice = fitted.low_after == 0
                        ? fmt::format(kNothingPays, "low precision", machine->name(), kRunAnyway)
                        : fmt::format(kSomePays, fitted.low_after, fitted.low_before, machine->name());
  }
  model->symbol = std::move(fitted.symbol);
  model->params = std::move(fitted.params);
}

}  // namespace

GivenModel ConvertForRun(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                         const BindOptions& options, const std::optional<std::set<std::string>>& differentiated) {
  GivenModel model{Unfuse(symbol), params, ""};
  model.borrowed.emplace(params, options.owns_parameters);
  const std::shared_ptr<const MachineTable> machine = MachineFor(options);
  if (options.reduce_precision) {
    Convert(symbol, input_types, *options.reduce_precision, machine, differentiated, &model);
  }
  model.as_converted = model.symbol;
  if (machine != nullptr) Fit(input_types, options, machine, differentiated, IsConverted(symbol), &model);
  model.machine = machine;
  if (model.notice.empty() && HasFloat16Casts(model.symbol)) model.notice = kFloat16IsStorage;
  if (model.notice.empty()) model.notice = NoteOfIgnoredVariables();
  return model;
}

BoundModel BindModel(const GivenModel& model, const TypeMap& input_types, const CompileOptions& options) {
  BoundModel bound = Unprepared(model, input_types, options);
  // The reference backend runs the graph as it is given: everything else is compared with it.
  if (options.backend == Backend::kReference) {
    bound.store = NewConstantStore(model.params, PointerTo(model.borrowed));
    return bound;
  }
  CheckDisabledPasses(NamesOfOptionalPasses());
  const Model& given = bound.given;
  Preparation preparation{Model(given.graph(), given.variable_types(), given.parameters(), model.params), options.mode,
                          ReferenceRunner()};
  PrepareModel(preparation);
  bound.store = NewConstantStore(preparation.model.arrays(), PointerTo(model.borrowed));
  preparation.model.ReleaseArrays();
  bound.prepared = std::move(preparation.model);
  bound.is_optimized = true;
  bound.assumes_ranks = preparation.assumes_ranks;
  return bound;
}

BoundModel BindMonitoredModel(const GivenModel& model, const TypeMap& input_types, const CompileOptions& options) {
  std::vector<NodeEntry> outputs = OperatorOutputs(model.symbol.ToGraph());
  outputs.insert(outputs.end(), model.symbol.outputs().begin(), model.symbol.outputs().end());
  BoundModel bound = Unprepared(model, input_types, options);
  bound.symbol = Symbol(std::move(outputs), model.symbol.np_shape());
  bound.given.Replace(bound.symbol.ToGraph());
  bound.prepared = bound.given;
  bound.options.mode = NumericMode::kExact;
  bound.store = NewConstantStore(model.params,
                                 PointerTo(model.borrowed));  // another plan's store releases what that plan has packed
  return bound;
}

BoundModel WithShapes(const BoundModel& model, const std::map<std::string, Shape>& input_shapes,
                      const std::vector<std::string>& input_names) {
  TypeMap given = model.given.variable_types(), prepared = model.prepared.variable_types();
  for (const auto& [name, shape] : input_shapes) {
    if (model.given.parameters().contains(name)) {
      Throw<ArgumentError>("'{}' is a parameter; its shape is that of its array", name);
    }
    const auto found = given.find(name);
    if (found == given.end()) {
      Throw<ArgumentError>("the model has no input '{}'{}", Quotable(name), NearMatches(name, input_names));
    }
    RequireSameRank(model, name, shape);
    found->second.shape = shape;
    if (const auto kept = prepared.find(name); kept != prepared.end()) kept->second.shape = shape;
  }
  BoundModel reshaped = model;
  reshaped.given.SetVariableTypes(std::move(given));
  reshaped.prepared.SetVariableTypes(std::move(prepared));
  return reshaped;
}

std::shared_ptr<const Plan> MakePlan(const BoundModel& model) {
  RequireTypes(model.given);  // what is wrong is said of the model as it was given
  VerifyAfter("Bind", model.given.graph());
  Preparation preparation{model.prepared, model.options.mode, ReferenceRunner()};
  if (model.is_optimized) OptimizeForShapes(preparation);
  RequireTypes(preparation.model);
  return Compile(preparation.model, model.options, model.store, model.constants_again);
}

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

std::vector<std::string> IgnoredVariables(const Graph& graph) {
  const std::vector<bool> needed = NeededNodes(graph);
  std::vector<std::string> names;
  for (const NodeId id : graph.variables()) {
    if (!needed[id]) names.push_back(graph.node(id).name());
  }
  return names;
}

}  // namespace amp::onednn
