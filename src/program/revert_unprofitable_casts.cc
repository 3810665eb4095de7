#include "program/revert_unprofitable_casts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "passes/infer.h"
#include "passes/mark_backward.h"
#include "passes/precision/cast_params_offline.h"
#include "passes/precision/remove_amp_casts.h"
#include "passes/runs_bodies.h"
#include "passes/whose_cast.h"
#include "program/cast_arrays.h"
#include "program/convert_model.h"

namespace amp {
namespace {

void AddTargets(const Graph& graph, std::set<DType>* found) {
  for (const NodePtr& node : graph.nodes()) {
    const bool is_cast = node->IsOp("amp_cast") && IsCastOfConversion(*node);
    if (is_cast && IsLowPrecision(node->Attr<DType>("dtype"))) found->insert(node->Attr<DType>("dtype"));
    const std::string* mark = node->is_variable() ? node->FindAttr(kAmpDTypeAttr) : nullptr;
    if (mark != nullptr) found->insert(DTypeFromName(*mark));
  }
}

// The low dtype of a conversion's casts and marked parameters; kUnknown where there is none, or where there are
// several.
DType TargetOf(const Graph& graph) {
  std::set<DType> found;
  AddTargets(graph, &found);
  for (const BodyGraph& body : BodiesIn(graph, {})) AddTargets(body.graph, &found);
  return found.size() == 1 ? *found.begin() : DType::kUnknown;
}

bool IsFullyKnown(const Types& types) {
  return std::all_of(types.begin(), types.end(), [](const TensorType& type) { return type.fully_known(); });
}

void AddLowNodes(const std::string& path, const Graph& graph, const Types& types, DType target,
                 std::set<std::string>* names) {
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    if (node.is_variable() || IsCastOfConversion(node)) continue;
    bool is_low = false;
    for (const EntryId input : graph.InputsOf(id)) is_low = is_low || types[input].dtype == target;
    for (const EntryId output : graph.OutputsOf(id)) is_low = is_low || types[output].dtype == target;
    if (is_low) names->insert(path + node.name());
  }
}

// Full names of operator nodes that read or write `target`, a conversion's casts aside.
std::set<std::string> LowNodes(const Graph& graph, const Types& types, DType target) {
  std::set<std::string> names;
  AddLowNodes("", graph, types, target, &names);
  for (const BodyGraph& body : BodiesIn(graph, types)) {
    AddLowNodes(body.path, body.graph, InferPartial(body.graph, body.variable_types), target, &names);
  }
  return names;
}

// A marked variable without an array is an input, as in training: it stays what it is.
Graph WithoutMarksOfInputs(const Graph& graph, const ModelParams& params) {
  Rewriter rewriter(graph);
  return rewriter
      .Run([&](NodeId id, std::vector<NodeEntry> inputs) {
        const Node& node = graph.node(id);
        const bool is_marked = node.is_variable() && node.FindAttr(kAmpDTypeAttr) != nullptr;
        const bool is_given = params.args.contains(node.name()) || params.aux.contains(node.name());
        if (!is_marked || is_given) return rewriter.KeepNode(id, std::move(inputs));
        AttrMap attrs = node.attrs();
        attrs.erase(kAmpDTypeAttr);
        return rewriter.Replace(node.WithAttrs(std::move(attrs)));
      })
      .graph;
}

// Calls `visit` with the full name of each operator node, those of bodies included.
template <class Visit>
void ForEachOperator(const Graph& graph, const Visit& visit) {
  const auto visit_all = [&visit](const std::string& path, const Graph& part) {
    for (const NodePtr& node : part.nodes()) {
      if (!node->is_variable()) visit(path + node->name(), *node);
    }
  };
  visit_all("", graph);
  for (const BodyGraph& body : BodiesIn(graph, {})) visit_all(body.path, body.graph);
}

// What the caller forces now, and what one forced when the model was converted.
std::set<std::string> WithForced(const Graph& graph, std::set<std::string> kept) {
  ForEachOperator(graph, [&](const std::string& name, const Node& node) {
    if (node.FindAttr(kForcedDTypeAttr) != nullptr) kept.insert(name);
  });
  return kept;
}

// The dtypes that the arrays of the marked parameters are to have again.
std::map<std::string, DType> WidenedParameters(const Graph& graph) {
  std::map<std::string, DType> widened;
  for (const NodeId id : graph.variables()) {
    if (graph.node(id).FindAttr(kAmpDTypeAttr) != nullptr) widened[graph.node(id).name()] = DType::kFloat32;
  }
  return widened;
}

std::map<std::string, DType> DTypesOf(const TypeMap& types) {
  std::map<std::string, DType> dtypes;
  for (const auto& [name, type] : types) {
    if (IsKnown(type.dtype)) dtypes[name] = type.dtype;
  }
  return dtypes;
}

// The outputs by the names that they had: a cast that was an output may be gone.
std::vector<NodeEntry> Named(std::vector<NodeEntry> outputs, const std::vector<std::string>& names) {
  static const Op& copy = OpRegistry::Get().Require(kMXNetDomain, "_copy");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (OutputName(outputs[i]) == names[i]) continue;
    const std::string node = outputs[i].node->name() + "_renamed";
    outputs[i] = {Node::Make({&copy, node, {{kOutputNameAttr, names[i]}}, {outputs[i]}, {}}), 0};
  }
  return outputs;
}

// What was float32 stays so; what was low goes low again where that pays.
ConvertOptions OptionsFor(const Graph& plain, const std::set<std::string>& low, const std::set<std::string>& kept,
                          DType target) {
  ConvertOptions options;
  options.target = target;
  options.policy = PrecisionPolicy::kOptimal;
  options.fold_batch_norm = false;
  ForEachOperator(plain, [&](const std::string& name, const Node& node) {
    if (HasBodies(node)) return;  // their bodies decide
    if (!low.contains(name)) options.excluded.push_back(name);
    if (low.contains(name) && kept.contains(name)) options.force[name] = target;
  });
  options.ignore_unknown_names = true;
  return options;
}

}  // namespace

bool IsConverted(const Symbol& symbol) { return IsKnown(TargetOf(symbol.ToGraph())); }

RevertedModel RevertUnprofitableCasts(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                                      const std::shared_ptr<const Machine>& machine,
                                      const std::set<std::string>& given_kept,
                                      const std::optional<std::set<std::string>>& differentiated) {
  RevertedModel fitted{symbol, params};
  const Graph graph = WithoutMarksOfInputs(symbol.ToGraph(), params);
  const DType target = TargetOf(symbol.ToGraph());
  // The dtype of a gradient follows from its forward tensor, so graphs with gradients keep their casts.
  if (machine == nullptr || !IsKnown(target) || HasGradients(graph)) return fitted;
  const TypeMap variables = VariableTypes(graph, params, input_types);
  const Types types = InferPartial(graph, variables);
  if (!IsFullyKnown(types)) return fitted;
  const std::set<std::string> kept = WithForced(graph, given_kept);
  const std::set<std::string> low = LowNodes(graph, types, target);
  fitted.low_before = fitted.low_after = low.size();
  const Graph bare = std::move(RemoveAmpCasts(graph, DTypesOf(variables), RemovedCasts::kOfConversions).graph);
  const Graph plain(Named(bare.outputs(), OutputNames(graph.outputs())));
  ModelParams widened = params;
  CastArrays(WidenedParameters(graph), &widened);
  ConvertOptions options = OptionsFor(plain, low, kept, target);
  options.machine = machine;
  options.training = differentiated.has_value();
  options.differentiated = differentiated;
  options.cast_params_offline = !options.training;
  const std::vector<std::string> names = OutputNames(plain.outputs());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const DType dtype = types[graph.EntryOf(graph.outputs()[i])].dtype;
    if (IsFloat(dtype) && dtype != DType::kFloat64) options.output_dtypes[names[i]] = dtype;
  }
  const Symbol in_float32(plain.outputs(), symbol.np_shape());
  options.only_if_it_pays = kept.empty();
  ConvertedModel converted = ConvertModel(in_float32, widened, input_types, options);
  const Graph after = converted.symbol.ToGraph();
  const Types after_types = InferPartial(after, VariableTypes(after, converted.params, input_types));
  const std::set<std::string> low_after = LowNodes(after, after_types, target);
  if (low_after.size() >= low.size()) return fitted;  // everything pays: the file knows best where casts stand
  return {std::move(converted.symbol), std::move(converted.params), low.size(), low_after.size()};
}

}  // namespace amp
