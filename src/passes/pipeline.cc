// The story of a conversion, one call per stage.
#include <algorithm>
#include <set>

#include "nnvm/dump.h"
#include "nnvm/env.h"
#include "passes/cast_params_offline.h"
#include "passes/convert.h"
#include "passes/unfuse.h"
#include "passes/verify.h"

namespace amp {
namespace {

void CheckInputNames(const Graph& graph, const TypeMap& input_types) {
  std::vector<std::string> names;
  for (const NodeId id : graph.variables()) names.push_back(graph.node(id).name());
  for (const auto& [name, type] : input_types) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      Throw<ArgumentError>("the symbol has no input '{}'{}", Quotable(name), NearMatches(name, names));
    }
  }
}

// Shapes need not be known for a conversion; dtypes must.
void RequireDTypes(const Graph& graph, const Types& types) {
  std::vector<std::string> unknown;
  for (EntryId e = 0; e < types.size(); ++e) {
    if (!IsKnown(types[e].dtype)) unknown.push_back(Quotable(graph.EntryName(e)));
  }
  if (!unknown.empty()) {
    Throw<GraphError>("the dtypes of {} tensors are unknown: {}; give the dtypes of the inputs they depend on",
                      unknown.size(), JoinSome(unknown));
  }
}

// Under AMP_VERIFY: the casts are where they have to be, i.e. no operator refuses its new dtypes.
void VerifyDTypes(const Graph& graph, const TypeMap& variables) {
  if (!EnvFlag("AMP_VERIFY")) return;
  try {
    RequireDTypes(graph, InferPartial(graph, variables));
  } catch (const GraphError& error) {
    Throw<InternalError>("the converted graph does not type: {}", error.what());
  }
}

std::size_t CountCasts(const Graph& graph) {
  return static_cast<std::size_t>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                                [](const NodePtr& node) { return node->op_name() == "amp_cast"; }));
}

// Types and arrays go by name.
void CheckVariableNames(const Graph& graph) {
  std::set<std::string> names;
  for (const NodeId id : graph.variables()) {
    if (!names.insert(graph.node(id).name()).second) {
      Throw<GraphError>("two variables of the symbol are named '{}'", Quotable(graph.node(id).name()));
    }
  }
}

// The array of a parameter, whichever group it is in; nullptr where there is none.
const NDArray* FindParameter(const ModelParams& params, const std::string& name) {
  const auto arg = params.args.find(name);
  const auto aux = params.aux.find(name);
  const bool is_arg = arg != params.args.end(), is_aux = aux != params.aux.end();
  if (is_arg && is_aux) Throw<ArgumentError>("'{}' is given both as argument and as auxiliary state", name);
  if (!is_arg && !is_aux) return nullptr;
  const NDArray& array = is_arg ? arg->second : aux->second;
  if (!array.defined()) Throw<ArgumentError>("the array of the parameter '{}' has no value", name);
  return &array;
}

// What the caller says of a variable must not contradict its array.
void MergeGiven(const std::string& name, const TensorType& given, TensorType* type) {
  bool changed = false;
  const bool same_dtype = !IsKnown(given.dtype) || !IsKnown(type->dtype) || given.dtype == type->dtype;
  if (!same_dtype || !MergeShape(&type->shape, given.shape, &changed)) {
    Throw<ArgumentError>("'{}' is given as {}, but its parameter array is {}", name, given.ToString(),
                         type->ToString());
  }
  if (!IsKnown(type->dtype)) type->dtype = given.dtype;
}

}  // namespace

TypeMap VariableTypes(const Graph& graph, const ModelParams& params, const TypeMap& input_types) {
  CheckInputNames(graph, input_types);
  CheckVariableNames(graph);
  TypeMap known;
  for (const NodeId id : graph.variables()) {
    const Node& variable = graph.node(id);
    TensorType& type = known[variable.name()];
    if (const NDArray* array = FindParameter(params, variable.name())) type = array->type();
    const auto given = input_types.find(variable.name());
    if (given != input_types.end()) MergeGiven(variable.name(), given->second, &type);
    if (!IsKnown(type.dtype)) type.dtype = DTypeAttr(variable);
    if (!IsKnown(type.dtype)) type.dtype = DType::kFloat32;
  }
  return known;
}

ConvertedSymbol ConvertSymbol(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                              const ConvertOptions& options) {
  // Unfuse: precision is decided on plain operators.
  const Graph graph = Unfuse(symbol).ToGraph();

  // Infer: every decision below is made on known dtypes; a clash in the caller's types shows here, not later.
  const Types types = InferPartial(graph, VariableTypes(graph, params, input_types));
  RequireDTypes(graph, types);
  VerifyAfter("loading", graph);

  // ReducePrecision, first half: which dtype each slot wants. Nothing is changed yet.
  std::vector<bool> is_parameter(graph.num_nodes());
  std::set<std::string> parameters;
  for (const NodeId id : graph.variables()) {
    const std::string& name = graph.node(id).name();
    is_parameter[id] = params.args.contains(name) || params.aux.contains(name);
    if (is_parameter[id]) parameters.insert(name);
  }
  const Decision decision = Decide(graph, types, is_parameter, {options.target});
  DumpText("decision", [&] { return decision.Print(graph); });

  // ReducePrecision, second half: the casts. From here on inference alone reproduces the decided dtypes.
  RewriteResult reduced = ApplyDecision(graph, types, decision);
  VerifyAfter("ReducePrecision", reduced.graph);
  VerifyDTypes(reduced.graph, VariableTypes(reduced.graph, params, input_types));
  DumpGraph("reduce_precision", reduced.graph, reduced.changed);

  ConvertedSymbol result{Symbol(reduced.graph.outputs(), symbol.np_shape()), 0, {}};
  if (options.cast_params_offline) {
    // CastParamsOffline: from here on `casts` says which arrays have to be cast for the graph to be right.
    OfflineCasts offline = CastParamsOffline(reduced.graph, parameters);
    VerifyAfter("CastParamsOffline", offline.rewrite.graph);
    DumpGraph("cast_params_offline", offline.rewrite.graph, offline.rewrite.changed);
    result.symbol = Symbol(offline.rewrite.graph.outputs(), symbol.np_shape());
    result.casts = std::move(offline.casts);
  }
  result.num_casts = CountCasts(result.symbol.ToGraph());
  return result;
}

}  // namespace amp
