#include "passes/fusion_mxnet/cleanup.h"

#include <algorithm>
#include <array>
#include <utility>

#include "nnvm/rewriter.h"
#include "passes/fusion_mxnet/chain_patterns.h"
#include "passes/optimize/eliminate_common_subexpressions.h"
#include "passes/optimize/eliminate_identities.h"

namespace amp {
namespace {

// MXNet takes operators that ask for scratch memory for random ones.
bool AsksForScratchMemory(const Node& node) {
  return node.IsOp("Convolution") || node.IsOp("Deconvolution") || node.IsOp("FullyConnected");
}

bool MayBeShared(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  bool may = !node.inputs().empty() && !node.IsOp("Dropout") && !AsksForScratchMemory(node) && !graph.HasOutput(id);
  for (std::size_t slot = 0; slot < node.inputs().size(); ++slot) may = may && !node.IsMutable(slot);
  return may;
}

constexpr MergePolicy kMXNetMerges{MayBeShared, [](const std::string& attr) { return attr != "__profiler_scope__"; },
                                   /*keeps_first=*/true};

// What MXNet takes for a copy: not what reads a variable, nor an output with a name of its own.
bool IsMXNetIdentity(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool drops = node.IsOp("Dropout") && node.Attr<std::string>("mode") == "training";
  return (drops || node.IsOp("_copy")) && !graph.node(graph.NodeOf(graph.InputsOf(id)[0])).is_variable() &&
         graph.OnlyFirstOutputUsed(id) && node.FindAttr(kOutputNameAttr) == nullptr;
}

// ---- casts ----

// What `node` casts to.
DType CastOf(const Node& node, const char* op) {
  return node.IsOp(op) && node.control_deps().empty() ? node.Attr<DType>("dtype") : DType::kUnknown;
}

// Whether the node is the second or third of the casts.
bool IsRepeatedCast(const Graph& graph, NodeId id) {
  const DType dtype = CastOf(graph.node(id), "Cast");
  if (!IsKnown(dtype)) return false;
  const auto is_same = [&](NodeId other) { return CastOf(graph.node(other), "Cast") == dtype; };
  const auto input = [&](NodeId of) { return graph.NodeOf(graph.InputsOf(of)[0]); };
  const auto is_read_by = [&](NodeId of, NodeId reader) {
    const Consumer* only = graph.OnlyReaderOf(of);
    return only != nullptr && only->node == reader;
  };
  const NodeId before = input(id);
  const bool is_third = is_same(before);
  const NodeId second = is_third ? before : id;
  const NodeId expand = input(second);
  if (!graph.node(expand).IsOp("expand_dims") || !is_read_by(expand, second)) return false;
  const Consumer* third = graph.OnlyReaderOf(second);
  return is_same(input(expand)) && third != nullptr && is_same(third->node) && (!is_third || third->node == id);
}

// ---- float outputs ----

bool MayWriteFloat32(const Node& node) {
  constexpr std::array kAttention{"_sg_onednn_selfatt_qk", "_sg_onednn_selfatt_qk_split", "_sg_onednn_selfatt_valatt"};
  if (std::find(kAttention.begin(), kAttention.end(), node.op_name()) != kAttention.end()) return true;
  for (const FusionDialect dialect : {FusionDialect::kMklDnn, FusionDialect::kOneDnn}) {
    for (const FusionChain& chain : FusionChains(dialect)) {
      if (chain.writes_float32 && node.IsOp(chain.op)) return true;
    }
  }
  return false;
}

bool IsAbsorbed(const Graph& graph, NodeId cast) {
  if (CastOf(graph.node(cast), "amp_cast") != DType::kFloat32) return false;
  const NodeId source = graph.NodeOf(graph.InputsOf(cast)[0]);
  return MayWriteFloat32(graph.node(source)) && graph.OnlyReaderOf(source) != nullptr;
}

// `fused` in the place of the cast, whose name it takes over if that was an output's.
NodePtr WritingFloat32(const Node& fused, const Node& cast) {
  AttrMap attrs = fused.attrs();
  attrs["enabled_float_output"] = "float32";
  const std::string* name = cast.FindAttr(kOutputNameAttr);
  if (name != nullptr && *name != fused.name() + "_output") attrs[kOutputNameAttr] = *name;
  return fused.WithAttrs(std::move(attrs));
}

}  // namespace

Graph MergeEqualAsMXNet(const Graph& graph) { return EliminateCommonSubexpressions(graph, kMXNetMerges).graph; }

Graph EliminateIdentitiesAsMXNet(const Graph& graph) {
  Identities identities(graph);
  identities.keeps_outputs = false;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (IsMXNetIdentity(graph, id)) identities.same_as[graph.EntryOf(id, 0)] = graph.InputsOf(id)[0];
  }
  return EliminateIdentities(graph, identities).graph;
}

Graph RemoveRepeatedCasts(const Graph& graph) {
  Rewriter rewriter(graph);
  return rewriter
      .Run([&](NodeId id, std::vector<NodeEntry> inputs) {
        return IsRepeatedCast(graph, id) ? inputs : rewriter.KeepNode(id, std::move(inputs));
      })
      .graph;
}

Graph AbsorbFloatCasts(const Graph& graph) {
  Rewriter rewriter(graph);
  return rewriter
      .Run([&](NodeId id, std::vector<NodeEntry> inputs) {
        if (!IsAbsorbed(graph, id)) return rewriter.KeepNode(id, std::move(inputs));
        return rewriter.Replace(WritingFloat32(*inputs[0].node, graph.node(id)));
      })
      .graph;
}

}  // namespace amp
