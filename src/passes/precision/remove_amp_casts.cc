#include "passes/precision/remove_amp_casts.h"

#include <map>
#include <utility>

#include "passes/infer.h"
#include "passes/precision/cast_params_offline.h"
#include "passes/runs_bodies.h"
#include "passes/whose_cast.h"

namespace amp {
namespace {

class CastRemover {
 public:
  CastRemover(const Graph& graph, const std::map<std::string, DType>& dtypes, RemovedCasts casts, bool is_body)
      : graph_(graph), given_(dtypes), removed_(casts), is_body_(is_body), rewriter_(graph) {}

  RewriteResult Run() {
    return rewriter_.Run([this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); },
                         [this](std::size_t index, NodeEntry mapped) { return Output(index, std::move(mapped)); });
  }

 private:
  using EntryKey = std::pair<const Node*, std::uint32_t>;

  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    if (node.is_variable()) return Variable(id);
    const bool stays = removed_ == RemovedCasts::kOfConversions && IsCastOfProgram(node);
    if (node.op_name() == "amp_multicast" && !stays) return inputs;
    if (node.op_name() == "amp_cast" && !stays) return {WithoutCast(id, std::move(inputs[0]))};
    return Operator(id, std::move(inputs));
  }

  // A body declares what its node gives it: its variables are no parameters, whose arrays could decide.
  std::vector<NodeEntry> Variable(NodeId id) {
    const Node& variable = graph_.node(id);
    if (variable.FindAttr(kAmpDTypeAttr) == nullptr) return Typed(rewriter_.KeepNode(id, {}), {DTypeOf(variable)});
    AttrMap attrs = variable.attrs();
    attrs.erase(kAmpDTypeAttr);
    attrs.erase("__dtype__");
    if (is_body_) attrs["__dtype__"] = std::to_string(*InfoOf(DType::kFloat32).mxnet_code);
    return Typed(rewriter_.Replace(variable.WithAttrs(std::move(attrs))), {DType::kFloat32});
  }

  DType DTypeOf(const Node& variable) const {
    const auto given = given_.find(variable.name());
    const DType dtype = given != given_.end() ? given->second : DTypeAttr(variable);
    return IsKnown(dtype) ? dtype : DType::kFloat32;
  }

  // A cast to float32 of what is low by itself is needed.
  NodeEntry WithoutCast(NodeId id, NodeEntry input) {
    const std::string* dtype = graph_.node(id).FindAttr("dtype");
    const bool is_needed = dtype != nullptr && *dtype == "float32" && IsLowPrecision(DTypeOf(input));
    return is_needed ? ToFloat32(std::move(input)) : input;
  }

  std::vector<NodeEntry> Operator(NodeId id, std::vector<NodeEntry> inputs) {
    std::string refusal;
    const NodePtr plain = WithPlainBodies(WithoutNotes(id), DTypesOf(inputs));
    std::vector<DType> out = OutputDTypes(*plain, DTypesOf(inputs), &refusal);
    if (out.empty()) {
      std::vector<DType> cast = DTypesOf(inputs);
      for (DType& dtype : cast) dtype = IsLowPrecision(dtype) ? DType::kFloat32 : dtype;
      out = OutputDTypes(*plain, cast, &refusal);
      for (NodeEntry& input : inputs) {
        if (!out.empty() && IsLowPrecision(DTypeOf(input))) input = ToFloat32(input);
      }
    }
    std::vector<NodeEntry> kept = rewriter_.KeepNode(id, std::move(inputs));
    if (plain != graph_.nodes()[id]) kept = rewriter_.Replace(Like(*plain, *kept[0].node));
    return Typed(std::move(kept), out);
  }

  // `node` with the attributes and bodies of `plain`.
  static NodePtr Like(const Node& plain, const Node& node) {
    NodePtr made = node.WithAttrs(plain.attrs());
    return plain.subgraphs().empty() ? made : WithBodies(*made, plain.subgraphs());
  }

  NodePtr WithPlainBodies(NodePtr node, const std::vector<DType>& inputs) const {
    if (!HasBodies(*node)) return node;
    std::vector<TensorType> types;
    for (const DType dtype : inputs) types.push_back({dtype, {}});
    const FlowBodies flow = node->op()->Find<RunsBodies>()->describe(*node, types);
    Subgraphs bodies;
    bool changed = false;
    for (std::size_t i = 0; i < flow.bodies.size(); ++i) {
      std::map<std::string, DType> dtypes;
      for (const auto& [name, type] : flow.bodies[i].types) dtypes[name] = type.dtype;
      const Graph body(node->subgraphs()[i]);
      RewriteResult plain = CastRemover(body, dtypes, removed_, true).Run();
      changed = changed || plain.changed;
      bodies.push_back(plain.graph.outputs());
    }
    return changed ? WithBodies(*node, std::move(bodies)) : node;
  }

  NodePtr WithoutNotes(NodeId id) const {
    const NodePtr& node = graph_.nodes()[id];
    AttrMap attrs = node->attrs();
    if (attrs.erase(kOutDTypeAttr) + attrs.erase(kForcedDTypeAttr) == 0) return node;
    return node->WithAttrs(std::move(attrs));
  }

  NodeEntry ToFloat32(const NodeEntry& entry) {
    static const Op& amp_cast = OpRegistry::Get().Require(kMXNetDomain, "amp_cast");
    NodeEntry& cast = casts_[{entry.node.get(), entry.index}];
    if (cast.node == nullptr) {
      const std::string name = fmt::format("{}_{}_amp_cast_float32", entry.node->name(), entry.index);
      cast = Typed({{rewriter_.Make({&amp_cast, name, {{"dtype", "float32"}}, {entry}, {}}), 0}}, {DType::kFloat32})[0];
    }
    return cast;
  }

  // An output keeps the name that a cast bore for it.
  NodeEntry Output(std::size_t index, NodeEntry mapped) {
    const NodeEntry& output = graph_.outputs()[index];
    const std::string* name = output.node->FindAttr(kOutputNameAttr);
    if (name == nullptr || OutputName(mapped) == *name) return mapped;
    static const Op& copy = OpRegistry::Get().Require(kMXNetDomain, "_copy");
    const AttrMap attrs{{kOutputNameAttr, *name}};
    return {rewriter_.Make({&copy, output.node->name(), attrs, {std::move(mapped)}, {}}), 0};
  }

  // ---- dtypes of the new graph; what nothing is known of counts as float32 ----

  std::vector<NodeEntry> Typed(std::vector<NodeEntry> entries, const std::vector<DType>& dtypes) {
    for (std::size_t i = 0; i < entries.size() && i < dtypes.size(); ++i) {
      dtypes_[{entries[i].node.get(), entries[i].index}] = dtypes[i];
    }
    return entries;
  }

  DType DTypeOf(const NodeEntry& entry) const {
    const auto found = dtypes_.find({entry.node.get(), entry.index});
    return found != dtypes_.end() ? found->second : DType::kFloat32;
  }

  std::vector<DType> DTypesOf(const std::vector<NodeEntry>& entries) const {
    std::vector<DType> dtypes;
    for (const NodeEntry& entry : entries) dtypes.push_back(DTypeOf(entry));
    return dtypes;
  }

  const Graph& graph_;
  const std::map<std::string, DType>& given_;
  const RemovedCasts removed_;
  const bool is_body_;
  Rewriter rewriter_;
  std::map<EntryKey, DType> dtypes_;
  std::map<EntryKey, NodeEntry> casts_;
};

}  // namespace

RewriteResult RemoveAmpCasts(const Graph& graph, const std::map<std::string, DType>& dtypes, RemovedCasts casts) {
  return CastRemover(graph, dtypes, casts, false).Run();
}

}  // namespace amp
