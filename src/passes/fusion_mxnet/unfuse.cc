#include "passes/fusion_mxnet/unfuse.h"

#include <utility>

#include "nnvm/inline_subgraph.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "passes/precision/precision_categories.h"

namespace amp {
namespace {

bool HasFused(const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) {
    if (IsFused(*node)) return true;
  }
  return false;
}

// Copies the subgraph of one node into the graph under construction.
class Opener {
 public:
  Opener(Rewriter* rewriter, const Node& node, bool is_output)
      : rewriter_(rewriter), node_(node), is_output_(is_output) {}

  NodeEntry Open(const std::vector<NodeEntry>& inputs) {
    const std::vector<NodeEntry>& body = node_.subgraphs()[0];
    FindWriter(Graph(body));
    return Cast(InlineSubgraph(body, inputs, [&](const Node& inner, std::vector<NodeEntry> read) {
      return Copy(inner, &inner == body[0].node.get(), std::move(read));
    })[0]);
  }

 private:
  DType output_dtype() const { return node_.op()->Find<FusedFact>()->output_dtype(node_); }
  bool needs_cast() const { return IsKnown(output_dtype()) && writer_ == nullptr; }

  // The product that can write the node's output dtype by itself: it says so already, or all that follows it reads
  // nothing else but scales and statistics.
  void FindWriter(const Graph& body) {
    if (!IsKnown(output_dtype())) return;
    NodeId id = body.IdOf(body.outputs()[0].node.get());
    bool is_chain = true;
    while (!body.node(id).is_variable()) {
      const Node& node = body.node(id);
      if (FactsOf(node).arithmetic == Arithmetic::kAccumulates) {
        const std::string* said = node.FindAttr(kOutDTypeAttr);
        if (is_chain || (said != nullptr && *said == NameOf(output_dtype()))) writer_ = &node;
        return;
      }
      for (std::size_t slot = 1; slot < node.inputs().size(); ++slot) {
        is_chain = is_chain && FactsOf(node).RoleOf(slot) == SlotRole::kStatistic;
      }
      if (node.inputs().empty()) return;
      id = body.NodeOf(body.InputsOf(id)[0]);
    }
  }

  // What constrains the fused node, or one node inside of it, constrains all that it stands for.
  AttrMap Constrained(AttrMap attrs) const {
    const long bits = OptConstraints(node_);
    if (bits != 0) attrs[kOptConstraintAttr] = std::to_string(bits);
    return attrs;
  }

  // A single output keeps the name that the fused node gave it.
  AttrMap NamedAttrs(AttrMap attrs) const {
    if (is_output_) attrs.emplace(kOutputNameAttr, OutputName({NodePtr(NodePtr(), &node_), 0}));
    return attrs;
  }

  NodePtr Copy(const Node& inner, bool is_last, std::vector<NodeEntry> inputs) {
    const bool gives_output = is_last && !needs_cast();
    AttrMap attrs = Constrained(gives_output ? NamedAttrs(inner.attrs()) : inner.attrs());
    if (&inner == writer_) attrs[kOutDTypeAttr] = NameOf(output_dtype());
    return rewriter_->Make(
        {inner.op(), inner.name(), std::move(attrs), std::move(inputs), {}, Phase::kForward, inner.subgraphs()});
  }

  NodeEntry Cast(NodeEntry entry) {
    const DType dtype = output_dtype();
    if (!needs_cast()) return entry;
    const Op& op = OpRegistry::Get().Require(kMXNetDomain, "amp_cast");
    const std::string name = fmt::format("{}_0_amp_cast_{}", node_.name(), NameOf(dtype));
    const AttrMap attrs = NamedAttrs({{"dtype", std::string(NameOf(dtype))}});
    return {rewriter_->Make({&op, name, attrs, {std::move(entry)}, {}}), 0};
  }

  Rewriter* rewriter_;
  const Node& node_;
  const bool is_output_;
  const Node* writer_ = nullptr;  // in the subgraph
};

RewriteResult UnfuseOnce(const Graph& graph) {
  Rewriter rewriter(graph);
  return rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
    const Node& node = graph.node(id);
    if (!IsFused(node)) return rewriter.KeepNode(id, std::move(inputs));
    return {Opener(&rewriter, node, graph.IsOutput(graph.EntryOf(id, 0))).Open(inputs)};
  });
}

}  // namespace

bool IsFused(const Node& node) { return !node.is_variable() && node.op()->Find<FusedFact>() != nullptr; }

RewriteResult Unfuse(const Graph& graph) {
  if (!HasFused(graph)) return {graph, {}, false};
  RewriteResult result = UnfuseOnce(graph);
  while (HasFused(result.graph)) {  // fused nodes inside of fused nodes; each round opens one level
    RewriteResult inner = UnfuseOnce(result.graph);
    inner.provenance.Compose(result.graph, result.provenance);
    inner.changed = true;
    result = std::move(inner);
  }
  return result;
}

Symbol Unfuse(const Symbol& symbol) {
  const Graph graph = symbol.ToGraph();
  return HasFused(graph) ? Symbol(Unfuse(graph).graph.outputs(), symbol.np_shape()) : symbol;
}

}  // namespace amp
