#include "passes/conversion.h"

#include <algorithm>
#include <set>
#include <utility>

#include "nnvm/dump.h"
#include "nnvm/env.h"
#include "passes/fusion_mxnet/exclude_fused.h"
#include "passes/fusion_mxnet/unfuse.h"
#include "passes/gradient/gradient_report.h"
#include "passes/mark_backward.h"
#include "passes/op_facts.h"
#include "passes/optimize/merge_variables.h"
#include "passes/precision/apply_decision.h"
#include "passes/precision/cast_params_offline.h"
#include "passes/precision/decide.h"
#include "passes/precision/precision_categories.h"
#include "passes/precision/predicted_time.h"

namespace amp {
namespace {

// Nodes that the caller excludes or forces, or for which AMP is disabled.
std::set<const Node*> KeptByCaller(const Graph& graph, const ConvertOptions& options) {
  ConvertOptions known = options;
  known.ignore_unknown_names = true;  // those of nodes in bodies
  Problems told_by_decide;
  const PrecisionChoices choices = ChoosePrecision(graph, known, &told_by_decide);
  std::set<const Node*> kept;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (choices.named[id]) kept.insert(&graph.node(id));
  }
  return kept;
}

void AddParameterDTypes(const std::map<std::string, DType>& dtypes, TypeMap* input_types) {
  for (const auto& [name, dtype] : dtypes) {
    if (input_types->contains(name)) {
      Throw<ArgumentError>("'{}' is given both as input and as parameter", Quotable(name));
    }
  }
  for (const auto& [name, dtype] : dtypes) (*input_types)[name].dtype = dtype;
}

std::set<std::string> NamesOf(const std::map<std::string, DType>& dtypes) {
  std::set<std::string> names;
  for (const auto& [name, dtype] : dtypes) names.insert(name);
  return names;
}

// Which of the folded weights are read by one operator, in low precision.
std::map<std::string, FoldedWeight> LowWeights(const Graph& graph, const std::map<std::string, NDArray>& folded,
                                               const Decision& decision) {
  std::map<std::string, FoldedWeight> weights;
  for (const NodeId id : graph.variables()) {
    const EntryId entry = graph.EntryOf(id, 0);
    if (!folded.contains(graph.node(id).name()) || graph.ConsumersOf(entry).size() != 1) continue;
    const Consumer& reader = graph.ConsumersOf(entry)[0];
    const Node& node = graph.node(reader.node);
    const auto* target = node.op()->Find<FoldTarget>();
    if (target == nullptr || reader.slot != 1 || decision.ReadAt(reader.node, 1) != decision.target) continue;
    weights[graph.node(id).name()] = {node.name(), decision.target, target->weight_axis, target->weight_groups(node)};
  }
  return weights;
}

// The options of a pass that is off: their names are checked, and that is all.
ConvertOptions OptionsOff(const Graph& graph, const ConvertOptions& given) {
  ChoosePrecision(graph, given);
  ConvertOptions options;
  options.target = given.target;
  options.policy = given.policy;
  options.preset = given.preset;
  options.machine = given.machine;
  return options;
}

// The options of a decision that keeps all dtypes but those of outputs.
ConvertOptions OptionsWithout(const Graph& graph, ConvertOptions options) {
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_variable()) options.excluded.push_back(node->name());
  }
  return options;
}

Decision DecideFor(const Model& model, const ConvertOptions& options) {
  const Graph& graph = model.graph();
  if (IsOff(options)) return Decide(model, OptionsOff(graph, options));
  Decision decision = Decide(model, options);
  const bool is_loss = options.only_if_it_pays && decision.predicted && !PaysOff(*decision.predicted, *options.machine);
  return is_loss ? Decide(model, OptionsWithout(graph, options)) : decision;
}

// Gradients have the dtypes of what they belong to. Those that are in the graph already may not convert so.
void RequireTypesOfGradients(const Model& model) {
  if (!HasGradients(model.graph())) return;
  try {
    model.types();
  } catch (const GraphError& error) {
    Throw<UnsupportedError>("gradients in a graph do not convert: convert the model before they are taken ({})",
                            error.what());
  }
}

// Under AMP_VERIFY: the casts are where they have to be, i.e. no operator refuses its new dtypes.
void VerifyDTypes(const Model& model) {
  if (!EnvFlag("AMP_VERIFY")) return;
  try {
    model.types();
  } catch (const GraphError& error) {
    Throw<InternalError>("the converted graph does not type: {}", error.what());
  }
}

}  // namespace

Conversion::Conversion(const Symbol& symbol, const ModelParams& params, const TypeMap& inputs,
                       const ConvertOptions& given, ConversionReport* filled)
    : model(Graph(symbol.outputs()), {}, NamesOf(given.parameter_dtypes), params),
      input_types(inputs),
      options(given),
      report(filled) {}

void MergeVariables(Conversion& c) { c.model.Replace(MergeVariables(c.model.TakeGraph())); }

void UnfuseModel(Conversion& c) {
  RewriteResult opened = Unfuse(ExcludeFused(c.model.TakeGraph(), &c.options));
  c.origins = OriginsOf(opened);
  c.options.followers = FollowersIn(opened.graph, c.origins);
  c.model.Replace(std::move(opened.graph));
}

void InferTypes(Conversion& c) {
  AddParameterDTypes(c.options.parameter_dtypes, &c.input_types);
  c.model.SetVariableTypes(VariableTypes(c.model.graph(), c.model.arrays(), c.input_types));
  c.model.types();
  if (c.report != nullptr) c.given_parameters = CountParameters(c.model);
}

bool FoldsBatchNorm(const Conversion& c) {
  if (IsOff(c.options)) return false;
  const PrecisionPolicy policy = c.options.policy;
  return c.options.fold_batch_norm.value_or(
      !c.options.training && (policy == PrecisionPolicy::kDefault || policy == PrecisionPolicy::kOptimal));
}

void FoldBatchNorm(Conversion& c) {
  std::optional<std::set<const Node*>> kept;  // found out for the first norm
  FoldResult folded = FoldBatchNorm(c.model, [&](const Node& node) {
    if (!kept) kept = KeptByCaller(c.model.graph(), c.options);
    return kept->contains(&node);
  });
  c.folded = std::move(folded.names);
  c.model.Replace(std::move(folded.rewrite));
  c.model.ReplaceArrays(folded.dropped, folded.arrays);
  c.result.new_arrays = std::move(folded.arrays);
  c.result.dropped = std::move(folded.dropped);
}

void DecidePrecision(Conversion& c) {
  const Graph& graph = c.model.graph();
  c.decision = DecideFor(c.model, c.options);
  if (c.without_bodies && c.decision.predicted) {  // of the model as it was, bodies included
    c.decision.predicted->unchanged = Decide(*c.without_bodies, c.options).predicted->unchanged;
  }
  c.result.folded_weights = LowWeights(graph, c.result.new_arrays, c.decision);
  c.result.unknown_names = c.decision.unknown_names;
  c.result.predicted = c.decision.predicted;
  DumpText("decision", [&] { return c.decision.Print(graph); });
}

void ApplyDecision(Conversion& c) {
  RewriteResult applied =
      IsOff(c.options) ? RewriteResult{c.model.graph(), {}, false} : ApplyDecision(c.model.graph(), c.decision);
  // Only a report looks back; without one the next rewrite of a long graph has more room.
  if (c.report != nullptr) {
    c.provenance = std::move(applied.provenance);
    c.decided = c.model;
  }
  c.model.Replace(std::move(applied));
  c.result.num_casts = CountCasts(c.model.graph()) + c.bodies.num_casts;
  RequireTypesOfGradients(c.model);
  VerifyDTypes(c.model);
}

void CastParamsOffline(Conversion& c) {
  OfflineCasts offline = CastParamsOffline(c.model);
  if (c.report != nullptr) {
    offline.rewrite.provenance.Compose(c.model.graph(), c.provenance);
    c.provenance = std::move(offline.rewrite.provenance);
  }
  c.model.Replace(std::move(offline.rewrite));
  for (const auto& [name, dtype] : offline.casts) c.model.SetVariableDType(name, dtype);
  c.result.casts = std::move(offline.casts);
  c.result.num_casts = CountCasts(c.model.graph()) + c.bodies.num_casts;
}

void FillReport(Conversion& c) {
  ReportStages stages{
      *c.decided,        c.decision,         c.model,  c.provenance,           c.result.casts, c.folded, c.options,
      FoldsBatchNorm(c), c.given_parameters, c.bodies, c.result.folded_weights};
  if (c.options.training) stages.gradients = GradientTensors(stages);
  c.report->Fill(stages);
}

void FuseAgain(Conversion& c) { c.model.Replace(FuseAgain(c.model.graph(), c.model.types(), c.origins)); }

}  // namespace amp
