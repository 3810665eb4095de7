#include "dnnl/bind.h"

#include <utility>

#include "dnnl/cpu_info.h"
#include "nnvm/env.h"
#include "nnvm/error.h"
#include "passes/optimize_for_run.h"
#include "passes/unfuse.h"
#include "passes/verify.h"
#include "program/convert_model.h"
#include "program/lowering.h"

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
    "this CPU has no bfloat16 arithmetic: the model runs in its original precision, which is faster here (force the "
    "conversion with reduce_precision={'target_dtype': 'bfloat16', 'force': True})";
constexpr const char* kFloat16IsStorage =
    "float16 is stored, but computed in float32 between conversions, on a CPU: bfloat16 is the faster choice";

void RequireInputs(const Graph& graph, const std::set<std::string>& parameters, const TypeMap& input_types) {
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

// Types of all tensors; those behind labels may stay unknown.
Types InferNeeded(const Graph& graph, const TypeMap& known) {
  const std::vector<bool> needed = NeededNodes(graph);
  Types types = InferPartial(graph, known);
  for (EntryId e = 0; e < types.size(); ++e) {
    if (needed[graph.NodeOf(e)] && !types[e].fully_known()) return Infer(graph, known);  // throws and explains
  }
  return types;
}

// Which axis is that of the channels may depend on the rank, and batch norms are folded for good.
void RequireSameRank(const BoundModel& model, const std::string& input, const Shape& shape) {
  const Shape& bound = model.variable_types.at(input).shape;
  if (!model.prepared.assumes_ranks || !shape.rank_known() || shape.rank() == bound.rank()) return;
  Throw<UnsupportedError>(
      "'{}' was bound with {} axes ({}), and batch norms were folded for these: build another Executor for the shape "
      "{}",
      Quotable(input), bound.rank(), bound.ToString(), shape.ToString());
}

// As it is given.
BoundModel Unprepared(const GivenModel& model, const TypeMap& input_types, const CompileOptions& options) {
  const Graph graph = model.symbol.ToGraph();
  BoundModel bound;
  bound.symbol = model.symbol;
  bound.parameters = ParameterNames(model.params);
  bound.variable_types = VariableTypes(graph, model.params, input_types);
  bound.options = options;
  RequireInputs(graph, bound.parameters, input_types);
  bound.prepared = {bound.symbol, bound.variable_types, bound.parameters};
  return bound;
}

}  // namespace

GivenModel ConvertForRun(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                         const BindOptions& options) {
  GivenModel model{Unfuse(symbol), params, ""};
  if (!options.reduce_precision) return model;
  const DType target = options.reduce_precision->target;
  if (target == DType::kFloat16) model.notice = kFloat16IsStorage;
  if (target == DType::kBFloat16 && !OneDnnHasBF16() && !options.reduce_precision->force) {
    model.notice = kNoNativeBF16;
    return model;
  }
  ConvertOptions conversion = options.reduce_precision->conversion;
  conversion.target = target;
  conversion.cast_params_offline = true;
  ConvertedModel converted = ConvertModel(symbol, params, input_types, conversion);
  model.symbol = std::move(converted.symbol);
  model.params = std::move(converted.params);
  return model;
}

BoundModel BindModel(const GivenModel& model, const TypeMap& input_types, const CompileOptions& options) {
  BoundModel bound = Unprepared(model, input_types, options);
  // The reference backend runs the graph as it is given: everything else is compared with it.
  if (options.backend == Backend::kReference) {
    bound.store = NewConstantStore(model.params);
    return bound;
  }
  PreparedModel prepared = PrepareModel(model.symbol.ToGraph(), model.params, bound.variable_types, options.mode);
  bound.store = NewConstantStore(prepared.params);
  bound.prepared = {Symbol(prepared.graph.outputs(), model.symbol.np_shape()), std::move(prepared.variable_types),
                    ParameterNames(prepared.params), true, prepared.assumes_ranks};
  return bound;
}

BoundModel BindMonitoredModel(const GivenModel& model, const TypeMap& input_types, const CompileOptions& options) {
  std::vector<NodeEntry> outputs = OperatorOutputs(model.symbol.ToGraph());
  outputs.insert(outputs.end(), model.symbol.outputs().begin(), model.symbol.outputs().end());
  BoundModel bound = Unprepared(model, input_types, options);
  bound.symbol = bound.prepared.symbol = Symbol(std::move(outputs), model.symbol.np_shape());
  bound.options.mode = NumericMode::kExact;
  bound.store = NewConstantStore(model.params);  // another plan's store releases what that plan has packed
  return bound;
}

BoundModel WithShapes(const BoundModel& model, const std::map<std::string, Shape>& input_shapes,
                      const std::vector<std::string>& input_names) {
  BoundModel reshaped = model;
  for (const auto& [name, shape] : input_shapes) {
    if (model.parameters.contains(name)) {
      Throw<ArgumentError>("'{}' is a parameter; its shape is that of its array", name);
    }
    const auto found = reshaped.variable_types.find(name);
    if (found == reshaped.variable_types.end()) {
      Throw<ArgumentError>("the model has no input '{}'{}", Quotable(name), NearMatches(name, input_names));
    }
    RequireSameRank(model, name, shape);
    found->second.shape = shape;
    const auto prepared = reshaped.prepared.variable_types.find(name);
    if (prepared != reshaped.prepared.variable_types.end()) prepared->second.shape = shape;
  }
  return reshaped;
}

std::shared_ptr<const Plan> MakePlan(const BoundModel& model) {
  const Graph given = model.symbol.ToGraph();
  InferNeeded(given, model.variable_types);  // what is wrong is said of the model as it was given
  VerifyAfter("binding", given);
  const BoundModel::Prepared& prepared = model.prepared;
  Graph graph = prepared.symbol.ToGraph();
  if (prepared.is_optimized) {
    graph = OptimizeForRun(graph, prepared.variable_types, prepared.parameters, model.options.mode);
  }
  const Types types = InferNeeded(graph, prepared.variable_types);
  return Compile(graph, types, prepared.parameters, model.options, model.store);
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
