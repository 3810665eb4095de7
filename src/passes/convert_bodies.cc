#include "passes/convert_bodies.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "passes/conversion.h"
#include "passes/flow_conversion.h"
#include "passes/precision/apply_decision.h"
#include "passes/precision/names_by_graph.h"
#include "passes/precision/precision_categories.h"
#include "passes/runs_bodies.h"

namespace amp {
namespace {

// Whether the converted body names its variables in the same order: the node tells them apart by it.
bool KeepsVariableOrder(const FlowBody& body, const std::vector<NodeEntry>& outputs) {
  const Graph graph(outputs);
  if (graph.variables().size() != body.variables.size()) return false;
  for (std::size_t i = 0; i < body.variables.size(); ++i) {
    if (graph.node(graph.variables()[i]).name() != body.variables[i].name) return false;
  }
  return true;
}

class BodyConverter {
 public:
  BodyConverter(Conversion& c, void (*run)(Conversion&))
      : c_(c), run_(run), graph_(c.model.graph()), names_(graph_, c.model.types()) {}

  void Run() {
    const ConvertOptions given = c_.options;
    if (c_.options.policy != PrecisionPolicy::kMXNet) names_.RemoveInner(&c_.options);
    const PrecisionChoices choices = ChoosePrecision(graph_, c_.options);
    Rewriter rewriter(graph_);
    RewriteResult result = rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) {
      const Node& node = graph_.node(id);
      if (!HasBodies(node)) return rewriter.KeepNode(id, std::move(inputs));
      return Visit(id, std::move(inputs), given, choices, &rewriter);
    });
    if (result.changed) c_.without_bodies = c_.model;
    c_.model.Replace(std::move(result));
  }

 private:
  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs, const ConvertOptions& given,
                               const PrecisionChoices& choices, Rewriter* rewriter) {
    FlowConversion conversion = ConversionOf(id, given);
    std::string why_not = WhyNot(choices, id);
    if (why_not.empty()) why_not = conversion.WhyNot();
    if (!why_not.empty()) return Unconverted(id, std::move(inputs), conversion.flow(), why_not, given, rewriter);
    conversion.Run();
    Subgraphs subgraphs;
    std::vector<ConvertedBody> bodies;
    for (std::size_t i = 0; i < conversion.flow().bodies.size(); ++i) {
      const FlowBody& body = conversion.flow().bodies[i];
      bodies.push_back({PathOf(graph_.node(id), body), {}, conversion.ReportOf(i)});
      subgraphs.push_back(conversion.BodyOf(i, &bodies.back()));
      if (KeepsVariableOrder(body, subgraphs.back())) continue;
      return Unconverted(id, std::move(inputs), conversion.flow(), "its variables would change their order", given,
                         rewriter);
    }
    for (ConvertedBody& body : bodies) c_.bodies.bodies.push_back(std::move(body));
    for (const auto& outputs : subgraphs) c_.bodies.num_casts += CountCastsWithin(Graph(outputs));
    return Converted(id, std::move(inputs), conversion, std::move(subgraphs), rewriter);
  }

  FlowConversion ConversionOf(NodeId id, const ConvertOptions& given) const {
    const Node& node = graph_.node(id);
    std::vector<FlowInput> inputs;
    std::vector<TensorType> types;
    for (const EntryId input : graph_.InputsOf(id)) {
      const NodeId source = graph_.NodeOf(input);
      const bool is_parameter = graph_.node(source).is_variable() && c_.model.IsParameter(source);
      const NDArray* array = is_parameter ? FindArray(c_.model.arrays(), graph_.node(source).name()) : nullptr;
      types.push_back(c_.model.types()[input]);
      inputs.push_back({types.back(), array, is_parameter && !c_.casts_files});
    }
    FlowBodies flow = node.op()->Find<RunsBodies>()->describe(node, types);
    std::vector<ConvertOptions> options;
    for (const FlowBody& body : flow.bodies) options.push_back(OptionsFor(node, body, given));
    return FlowConversion(node, std::move(flow), std::move(inputs), std::move(options), run_, c_.report != nullptr);
  }

  static std::size_t CountCastsWithin(const Graph& graph) {
    std::size_t count = CountCasts(graph);
    for (const BodyGraph& body : BodiesIn(graph, {})) count += CountCasts(body.graph);
    return count;
  }

  std::string WhyNot(const PrecisionChoices& choices, NodeId id) const {
    if (c_.options.policy == PrecisionPolicy::kMXNet) return "MXNet's pass leaves bodies of control flow as they are";
    if (c_.options.accuracy) return "a goal for accuracy does not measure what is inside of bodies";
    if (c_.options.over_limit) return "limits do not measure what is inside of bodies";
    if (choices.reasons[id].kind != ReasonKind::kRunsBodies) {
      return fmt::format("the caller chose the dtypes of '{}'", Quotable(graph_.node(id).name()));
    }
    return "";
  }

  std::vector<NodeEntry> Unconverted(NodeId id, std::vector<NodeEntry> inputs, const FlowBodies& flow,
                                     const std::string& why_not, const ConvertOptions& given, Rewriter* rewriter) {
    for (const FlowBody& body : flow.bodies) {
      const std::string path = PathOf(graph_.node(id), body);
      ConvertOptions inner;
      names_.SelectFor(path, given, &inner);
      for (const auto& [name, dtype] : inner.force) {
        if (dtype == DType::kFloat32) continue;
        Throw<ArgumentError>("force: nodes of '{}' cannot be {}: {}", Quotable(path), NameOf(dtype), why_not);
      }
      c_.bodies.bodies.push_back({path, why_not});
    }
    return rewriter->KeepNode(id, std::move(inputs));
  }

  ConvertOptions OptionsFor(const Node& node, const FlowBody& body, const ConvertOptions& given) const {
    ConvertOptions options = given;
    names_.SelectFor(PathOf(node, body), given, &options);
    options.cast_params_offline = c_.casts_files;
    options.output_dtypes.clear();
    options.ignore_unknown_names = true;
    options.fold_batch_norm = false;
    options.parameter_dtypes.clear();
    options.rounded_to_nearest.clear();
    options.followers.clear();
    options.accuracy.reset();
    if (!given.training) return options;
    options.differentiated.emplace();
    for (const auto& [name, type] : body.types) {
      if (IsFloat(type.dtype)) options.differentiated->insert(name);
    }
    return options;
  }

  std::vector<NodeEntry> Converted(NodeId id, std::vector<NodeEntry> inputs, const FlowConversion& conversion,
                                   Subgraphs subgraphs, Rewriter* rewriter) {
    for (const std::size_t slot : conversion.low_slots()) {
      const EntryId source = graph_.InputsOf(id)[slot];
      const std::string stem = fmt::format("{}_{}", graph_.node(graph_.NodeOf(source)).name(), graph_.IndexOf(source));
      inputs[slot] = Cast(inputs[slot], stem, c_.options.target, {}, rewriter);
    }
    std::vector<NodeEntry> kept = rewriter->KeepNode(id, std::move(inputs));
    kept = rewriter->Replace(WithBodies(*kept[0].node, std::move(subgraphs)));
    for (const std::size_t output : conversion.low_outputs()) {
      const EntryId entry = graph_.EntryOf(id, output);
      AttrMap attrs;
      if (graph_.IsOutput(entry)) attrs[kOutputNameAttr] = graph_.EntryName(entry);
      const std::string stem = fmt::format("{}_{}", graph_.node(id).name(), output);
      kept[output] = Cast(kept[output], stem, DType::kFloat32, std::move(attrs), rewriter);
      c_.bodies.narrowed.insert({graph_.node(id).name(), static_cast<std::uint32_t>(output)});
    }
    return kept;
  }

  // One cast for each tensor and dtype.
  NodeEntry Cast(const NodeEntry& entry, const std::string& stem, DType dtype, AttrMap attrs, Rewriter* rewriter) {
    static const Op& amp_cast = OpRegistry::Get().Require(kMXNetDomain, "amp_cast");
    NodeEntry& cast = casts_[{entry.node.get(), entry.index, dtype}];
    if (cast.node == nullptr) {
      attrs["dtype"] = NameOf(dtype);
      const std::string name = fmt::format("{}_amp_cast_{}", stem, NameOf(dtype));
      cast = {rewriter->Insert({&amp_cast, name, std::move(attrs), {entry}, {}, {}}), 0};
      c_.bodies.casts.insert(cast.node->name());
    }
    return cast;
  }

  Conversion& c_;
  void (*const run_)(Conversion&);
  const Graph graph_;
  const NamesByGraph names_;
  std::map<std::tuple<const Node*, std::uint32_t, DType>, NodeEntry> casts_;
};

}  // namespace

void ConvertBodies(Conversion& c, void (*run)(Conversion&)) {
  const auto& nodes = c.model.graph().nodes();
  const bool any = std::any_of(nodes.begin(), nodes.end(), [](const NodePtr& node) { return HasBodies(*node); });
  if (any && !IsOff(c.options)) BodyConverter(c, run).Run();
}

}  // namespace amp
