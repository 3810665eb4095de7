// The story of a conversion, one call per stage.
#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "nnvm/dump.h"
#include "nnvm/env.h"
#include "passes/cast_params_offline.h"
#include "passes/conversion_report.h"
#include "passes/convert.h"
#include "passes/exclude_fused.h"
#include "passes/fold_batch_norm.h"
#include "passes/fuse_mxnet.h"
#include "passes/merge_variables.h"
#include "passes/precision_choice.h"
#include "passes/unfuse.h"
#include "passes/verify.h"

namespace amp {
namespace {

void CheckInputNames(const TypeMap& variables, const TypeMap& input_types) {
  for (const auto& [name, type] : input_types) {
    if (variables.contains(name)) continue;
    std::vector<std::string> names;
    for (const auto& [variable, unused] : variables) names.push_back(variable);
    Throw<ArgumentError>("the symbol has no input '{}'{}", Quotable(name), NearMatches(name, names));
  }
}

std::size_t CountCasts(const Graph& graph) {
  return static_cast<std::size_t>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                                [](const NodePtr& node) { return node->op_name() == "amp_cast"; }));
}

// Every variable, none of whose types is known yet. Types and arrays go by name.
TypeMap UntypedVariables(const Graph& graph) {
  TypeMap variables;
  for (const NodeId id : graph.variables()) {
    if (!variables.try_emplace(graph.node(id).name()).second) {
      Throw<GraphError>("two variables of the symbol are named '{}'", Quotable(graph.node(id).name()));
    }
  }
  return variables;
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

// Nodes that the caller excludes or forces, or for which AMP is disabled.
std::set<const Node*> KeptByCaller(const Graph& graph, const ConvertOptions& options) {
  const PrecisionChoices choices = ChoosePrecision(graph, options);
  std::set<const Node*> kept;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (choices.named[id]) kept.insert(&graph.node(id));
  }
  return kept;
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
  TypeMap known = UntypedVariables(graph);
  CheckInputNames(known, input_types);
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

namespace {

// Under AMP_VERIFY: the casts are where they have to be, i.e. no operator refuses its new dtypes.
void VerifyDTypes(const Graph& graph, const ModelParams& params, const TypeMap& input_types) {
  if (!EnvFlag("AMP_VERIFY")) return;
  try {
    InferPartial(graph, VariableTypes(graph, params, input_types));
  } catch (const GraphError& error) {
    Throw<InternalError>("the converted graph does not type: {}", error.what());
  }
}

// The story's state: each stage replaces what it changes, and types are inferred anew.
struct Corridor {
  Graph graph;
  Types types;
  ModelParams params;
};

void AddParameterDTypes(const std::map<std::string, DType>& dtypes, const TypeMap& input_types, TypeMap* known) {
  for (const auto& [name, dtype] : dtypes) {
    if (input_types.contains(name))
      Throw<ArgumentError>("'{}' is given both as input and as parameter", Quotable(name));
    (*known)[name].dtype = dtype;
  }
}

std::vector<bool> AreParameters(const Graph& graph, const std::function<bool(const std::string&)>& is_parameter) {
  std::vector<bool> are(graph.num_nodes());
  for (const NodeId id : graph.variables()) are[id] = is_parameter(graph.node(id).name());
  return are;
}

Graph NoGraph() { return Graph(std::vector<NodeEntry>()); }

// Number and bytes of the parameters that the graph reads.
std::pair<std::int64_t, std::int64_t> CountParameters(const Graph& graph, const Types& types,
                                                      const std::vector<bool>& are_parameters) {
  std::int64_t count = 0, bytes = 0;
  for (const NodeId id : graph.variables()) {
    if (!are_parameters[id]) continue;
    const TensorType& type = types[graph.EntryOf(id, 0)];
    ++count;
    if (type.fully_known()) bytes += type.shape.size() * static_cast<std::int64_t>(BytesOf(type.dtype));
  }
  return {count, bytes};
}

// Arrays of folded parameters in place of those that they replace; states cannot be such.
void TakeArrays(const FoldResult& folded, ModelParams* params) {
  for (const std::string& name : folded.dropped) {
    params->args.erase(name);
    params->aux.erase(name);
  }
  for (const auto& [name, array] : folded.arrays) params->args[name] = array;
}

// Which of the folded weights are read by one operator, in low precision.
std::map<std::string, FoldedWeight> LowWeights(const Graph& graph, const FoldResult& folded, const Decision& decision) {
  std::map<std::string, FoldedWeight> weights;
  for (const NodeId id : graph.variables()) {
    const EntryId entry = graph.EntryOf(id, 0);
    if (!folded.arrays.contains(graph.node(id).name()) || graph.ConsumersOf(entry).size() != 1) continue;
    const Consumer reader = graph.ConsumersOf(entry)[0];
    const Node& node = graph.node(reader.node);
    const auto* target = node.op()->Find<FoldTarget>();
    if (target == nullptr || reader.slot != 1 || decision.ReadAt(reader.node, 1) != decision.target) continue;
    weights[graph.node(id).name()] = {decision.target, target->weight_axis, target->weight_groups(node)};
  }
  return weights;
}

}  // namespace

ConvertedSymbol ConvertSymbol(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                              const ConvertOptions& given_options, ConversionReport* report) {
  // MergeVariables: arrays and types go by name, so variables of one name are one.
  // Unfuse: precision is decided on plain operators. Fused nodes that the caller excludes hand that on.
  ConvertOptions options = given_options;
  RewriteResult opened = Unfuse(ExcludeFused(MergeVariables(Graph(symbol.outputs())), &options));
  const FusedOrigins origins = OriginsOf(opened);
  options.followers = FollowersIn(opened.graph, origins);
  opened.provenance = {};
  Corridor c{std::move(opened.graph), {}, params};
  const auto is_parameter = [&](const std::string& name) {
    return c.params.args.contains(name) || c.params.aux.contains(name) || options.parameter_dtypes.contains(name);
  };
  TypeMap given = input_types;
  AddParameterDTypes(options.parameter_dtypes, input_types, &given);

  // Infer: decisions are made on known dtypes; a clash in the caller's types shows here, not later. A node with a
  // tensor of unknown dtype stays as it is, and shapes need not be known.
  c.types = InferPartial(c.graph, VariableTypes(c.graph, c.params, given));
  VerifyAfter("loading", c.graph);
  std::pair<std::int64_t, std::int64_t> parameters_before;  // number and bytes, for the report
  if (report != nullptr) parameters_before = CountParameters(c.graph, c.types, AreParameters(c.graph, is_parameter));

  // FoldBatchNorm: in float32, before weights are rounded. Nodes that the caller keeps as they are stay apart. From
  // here on the parameters are those of `c`.
  FoldResult folded{{NoGraph(), {}, false}, {}, {}, {}, {}};
  const bool folds = options.fold_batch_norm.value_or(options.policy == PrecisionPolicy::kDefault);
  if (folds) {
    std::optional<std::set<const Node*>> kept;  // found out for the first norm
    folded = FoldBatchNorm(c.graph, c.types, c.params, [&](const Node& node) {
      if (!kept) kept = KeptByCaller(c.graph, options);
      return kept->contains(&node);
    });
    VerifyAfter("FoldBatchNorm", folded.rewrite.graph);
    DumpGraph("fold_batch_norm", folded.rewrite.graph, folded.rewrite.changed);
    c.graph = std::move(folded.rewrite.graph);
    TakeArrays(folded, &c.params);
    if (folded.rewrite.changed) c.types = InferPartial(c.graph, VariableTypes(c.graph, c.params, given));
  }

  // ReducePrecision, first half: which dtype each slot wants. Nothing is changed yet.
  const std::vector<bool> are_parameters = AreParameters(c.graph, is_parameter);
  const Decision decision = Decide(c.graph, c.types, are_parameters, options);
  std::map<std::string, FoldedWeight> low_weights = LowWeights(c.graph, folded, decision);
  DumpText("decision", [&] { return decision.Print(c.graph); });

  // ReducePrecision, second half: the casts. From here on inference alone reproduces the decided dtypes.
  RewriteResult reduced = ApplyDecision(c.graph, decision);
  VerifyAfter("ReducePrecision", reduced.graph);
  VerifyDTypes(reduced.graph, c.params, given);
  DumpGraph("reduce_precision", reduced.graph, reduced.changed);

  // Only a report looks back; without one the last rewrite of a long graph has more room.
  if (report == nullptr) {
    c.graph = NoGraph();
    c.types = {};
    reduced.provenance = {};
  }

  OfflineCasts offline{std::move(reduced), {}};
  if (options.cast_params_offline) {
    // CastParamsOffline: from here on `casts` says which arrays have to be cast for the graph to be right.
    offline = CastParamsOffline(offline.rewrite.graph, is_parameter);
    VerifyAfter("CastParamsOffline", offline.rewrite.graph);
    DumpGraph("cast_params_offline", offline.rewrite.graph, offline.rewrite.changed);
  }
  const Graph& result = offline.rewrite.graph;
  Types after;
  if (report != nullptr || !origins.empty()) {
    TypeMap known = VariableTypes(result, c.params, given);
    for (const auto& [name, dtype] : offline.casts) known[name].dtype = dtype;
    after = InferPartial(result, known);
  }
  if (report != nullptr) {
    report->Fill({c.graph, c.types, are_parameters, decision, result, after, offline.casts, folded.folded, folded.kept,
                  options, folds, parameters_before.first, parameters_before.second});
  }
  // FuseAgain: what came as one node is one again, where no cast stands inside. The report is about plain operators.
  const Graph fused = FuseAgain(result, after, origins);
  VerifyAfter("FuseAgain", fused);
  DumpGraph("fuse_again", fused, !origins.empty());
  return {Symbol(fused.outputs(), symbol.np_shape()),
          CountCasts(result),
          std::move(offline.casts),
          std::move(folded.arrays),
          std::move(folded.dropped),
          std::move(low_weights),
          decision.unknown_names};
}

}  // namespace amp
