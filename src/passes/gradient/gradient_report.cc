#include "passes/gradient/gradient_report.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nnvm/error.h"
#include "passes/gradient/add_gradients.h"
#include "passes/gradient/gradient.h"
#include "passes/op_facts.h"
#include "passes/precision/decide.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

bool Accumulates(const Node& node) {
  return !node.is_variable() && FactsOf(node).arithmetic == Arithmetic::kAccumulates;
}

// The variables that are differentiated, as far as they are floats of the graph.
std::vector<std::string> FloatVariables(const Model& model, const std::set<std::string>& names) {
  std::vector<std::string> found;
  for (const NodeId id : model.graph().variables()) {
    const std::string& name = model.graph().node(id).name();
    if (names.contains(name) && IsFloat(model.types()[model.graph().EntryOf(id, 0)].dtype)) found.push_back(name);
  }
  return found;
}

class GradientReporter {
 public:
  GradientReporter(const ReportStages& stages, const Graph& graph)
      : s_(stages), graph_(graph), types_(InferPartial(graph, KnownTypes(stages.after, graph))) {
    const Graph& after = stages.after.graph();
    for (NodeId id = 0; id < after.num_nodes(); ++id) ids_.emplace(after.node(id).name(), id);
  }

  Json Write() const {
    Json tensors = Json::array();
    std::size_t next = s_.before.graph().num_entries();
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (node.is_variable() || node.phase() != Phase::kBackward) continue;
      for (int i = 0; i < node.num_visible_outputs(); ++i) tensors.push_back(Tensor(next++, id, graph_.EntryOf(id, i)));
    }
    return tensors;
  }

 private:
  static TypeMap KnownTypes(const Model& model, const Graph& graph) {
    const TypeMap all = model.GraphVariableTypes();
    TypeMap known;
    for (const NodeId id : graph.variables()) {
      const auto found = all.find(graph.node(id).name());
      if (found != all.end()) known.insert(*found);
    }
    return known;
  }

  Json Tensor(std::size_t id, NodeId node_id, EntryId entry) const {
    const Node& node = graph_.node(node_id);
    const TensorType& type = types_[entry];
    Json json{{"id", id},
              {"name", graph_.EntryName(entry)},
              {"node", node.name()},
              {"op", node.op_name()},
              {"kind", "gradient"},
              {"before", IsLowPrecision(type.dtype) ? NameOf(DType::kFloat32) : NameOf(type.dtype)},
              {"dtype", NameOf(type.dtype)}};
    json["bytes"] = type.fully_known() ? Json(type.shape.size() * BytesOf(type.dtype)) : Json(nullptr);
    json["reason"] = ReasonOf(node_id, type.dtype);
    return json;
  }

  Json ReasonOf(NodeId id, DType dtype) const {
    const Reason reason{KindOf(graph_.node(id), dtype), CauseOf(graph_.node(id)).value_or(Reason::kNone)};
    const ReasonInfo& info = InfoOf(reason.kind);
    return {{"class", info.reason_class},
            {"kind", info.name},
            {"text", s_.decision.Sentence(s_.before.graph(), reason)},
            {"because_of", reason.cause == Reason::kNone ? Json(nullptr) : Json(reason.cause)}};
  }

  ReasonKind KindOf(const Node& node, DType dtype) const {
    const Node* forward = ForwardOf(node);
    if (forward == nullptr || !Accumulates(*forward) || node.IsOp("add_n")) {
      return node.IsOp("add_n") ? ReasonKind::kGradientSum : ReasonKind::kGradient;
    }
    if (IsLowPrecision(dtype)) return ReasonKind::kGradientLow;
    return IsLowPrecision(OperandOf(*forward)) ? ReasonKind::kGradientWide : ReasonKind::kGradient;
  }

  const Node* ForwardOf(const Node& node) const {
    const std::string* name = node.FindAttr(kForwardNodeAttr);
    const auto found = name == nullptr ? ids_.end() : ids_.find(*name);
    return found == ids_.end() ? nullptr : &s_.after.graph().node(found->second);
  }

  DType OperandOf(const Node& forward) const {
    return s_.after.types()[s_.after.graph().EntryOf(forward.inputs()[0])].dtype;
  }

  // What an output of the gradient graph is the gradient of.
  const Node* VariableOf(const Node& node) const {
    constexpr std::string_view kSuffix = "_grad";
    if (!node.name().ends_with(kSuffix)) return nullptr;
    const auto found = ids_.find(node.name().substr(0, node.name().size() - kSuffix.size()));
    return found == ids_.end() ? nullptr : &s_.after.graph().node(found->second);
  }

  // The forward tensor that it belongs to: of a cast, what was cast.
  std::optional<EntryId> CauseOf(const Node& node) const {
    const Node* forward = node.FindAttr(kForwardNodeAttr) != nullptr ? ForwardOf(node) : VariableOf(node);
    const Graph& after = s_.after.graph();
    while (forward != nullptr) {
      const std::vector<NodePtr> origins = s_.provenance.Of(after.nodes()[after.IdOf(forward)]);
      if (!origins.empty()) return s_.before.graph().EntryOf(s_.before.graph().IdOf(origins[0].get()), 0);
      if (forward->inputs().empty()) break;
      forward = forward->inputs()[0].node.get();
    }
    return std::nullopt;
  }

  const ReportStages& s_;
  const Graph& graph_;
  const Types types_;
  std::unordered_map<std::string, NodeId> ids_;  // of the converted model's nodes
};

}  // namespace

std::string GradientTensors(const ReportStages& stages) {
  const std::vector<std::string> variables =
      FloatVariables(stages.after, DifferentiatedVariables(stages.before, stages.options));
  if (variables.empty()) return "[]";
  try {
    const Graph graph = Gradient(Symbol(stages.after.graph().outputs()), variables).ToGraph();
    return GradientReporter(stages, graph).Write().dump(-1, ' ', true, Json::error_handler_t::replace);
  } catch (const UnsupportedError&) {
    return "[]";  // whoever trains the model is told
  }
}

}  // namespace amp
