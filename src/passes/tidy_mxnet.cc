#include "passes/tidy_mxnet.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "nnvm/rewriter.h"
#include "passes/fusion_patterns.h"

namespace amp {
namespace {

// ---- equal nodes ----

AttrMap WithoutNames(AttrMap attrs) {
  attrs.erase("__profiler_scope__");
  return attrs;
}

// MXNet takes operators that ask for scratch memory for random ones.
bool AsksForScratchMemory(const Node& node) {
  return node.op_name() == "Convolution" || node.op_name() == "Deconvolution" || node.op_name() == "FullyConnected";
}

bool MayBeShared(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  bool may = !node.is_variable() && !node.inputs().empty() && node.subgraphs().empty() && node.control_deps().empty() &&
             node.op_name() != "Dropout" && !AsksForScratchMemory(node);
  for (std::size_t slot = 0; slot < node.inputs().size(); ++slot) may = may && !node.IsMutable(slot);
  for (int i = 0; i < node.num_outputs(); ++i) {
    may = may && !graph.IsOutput(graph.EntryOf(id, static_cast<std::uint32_t>(i)));
  }
  return may;
}

using NodeKey = std::tuple<const Op*, AttrMap, std::vector<std::pair<const Node*, std::uint32_t>>, Phase>;

NodeKey KeyOf(const Node& node, const std::vector<NodeEntry>& inputs) {
  std::vector<std::pair<const Node*, std::uint32_t>> read;
  for (const NodeEntry& input : inputs) read.emplace_back(input.node.get(), input.index);
  return {node.op(), WithoutNames(node.attrs()), std::move(read), node.phase()};
}

// ---- identities and casts ----

bool IsIdentity(const Node& node) {
  if (node.is_variable() || !node.control_deps().empty()) return false;
  const std::string* mode = node.FindAttr("mode");
  const bool drops = node.op_name() == "Dropout" && (mode == nullptr || *mode == "training");
  return drops || node.op_name() == "_copy";
}

bool AreOthersUnused(const Graph& graph, NodeId id) {
  for (int i = 1; i < graph.node(id).num_outputs(); ++i) {
    const EntryId entry = graph.EntryOf(id, static_cast<std::uint32_t>(i));
    if (graph.IsOutput(entry) || !graph.ConsumersOf(entry).empty()) return false;
  }
  return true;
}

// What `node` casts to.
DType CastOf(const Node& node, const char* op) {
  const std::string* text = node.op_name() == op ? node.FindAttr("dtype") : nullptr;
  DType dtype = DType::kUnknown;
  if (text == nullptr || !node.control_deps().empty() || !ParseAttr(*text, &dtype)) return DType::kUnknown;
  return dtype;
}

// Whether the node is the second or third of the casts.
bool IsRepeatedCast(const Graph& graph, NodeId id) {
  const DType dtype = CastOf(graph.node(id), "Cast");
  if (!IsKnown(dtype)) return false;
  const auto is_same = [&](NodeId other) { return CastOf(graph.node(other), "Cast") == dtype; };
  const auto input = [&](NodeId of) { return graph.NodeOf(graph.InputsOf(of)[0]); };
  const auto only_reader = [&](NodeId of) -> std::optional<NodeId> {
    if (!HasOneReader(graph, of)) return std::nullopt;
    return graph.ConsumersOf(graph.EntryOf(of, 0))[0].node;
  };
  const NodeId before = input(id);
  const bool is_third = is_same(before);
  const NodeId second = is_third ? before : id;
  const NodeId expand = input(second);
  if (graph.node(expand).op_name() != "expand_dims" || only_reader(expand) != second) return false;
  const std::optional<NodeId> third = only_reader(second);
  return is_same(input(expand)) && third && is_same(*third) && (!is_third || *third == id);
}

// ---- float outputs ----

bool MayWriteFloat32(const Node& node) {
  constexpr std::array kOps{"_sg_onednn_conv",          "_sg_onednn_fully_connected",  "_sg_mkldnn_conv",
                            "_sg_onednn_selfatt_qk",    "_sg_onednn_selfatt_qk_split", "_sg_mkldnn_fully_connected",
                            "_sg_onednn_selfatt_valatt"};
  return std::find(kOps.begin(), kOps.end(), node.op_name()) != kOps.end();
}

bool IsAbsorbed(const Graph& graph, NodeId cast) {
  if (CastOf(graph.node(cast), "amp_cast") != DType::kFloat32) return false;
  const NodeId source = graph.NodeOf(graph.InputsOf(cast)[0]);
  return MayWriteFloat32(graph.node(source)) && HasOneReader(graph, source);
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

Graph ShareEqualNodes(const Graph& graph) {
  Rewriter rewriter(graph);
  std::map<NodeKey, std::vector<NodeEntry>> seen;
  return rewriter
      .Run([&](NodeId id, std::vector<NodeEntry> inputs) {
        if (!MayBeShared(graph, id)) return rewriter.Keep(id, std::move(inputs));
        const NodeKey key = KeyOf(graph.node(id), inputs);
        const auto found = seen.find(key);
        if (found != seen.end()) return found->second;
        return seen[key] = rewriter.Keep(id, std::move(inputs));
      })
      .graph;
}

Graph RemoveIdentities(const Graph& graph) {
  Rewriter rewriter(graph);
  return rewriter
      .Run([&](NodeId id, std::vector<NodeEntry> inputs) {
        const bool goes = IsIdentity(graph.node(id)) && !inputs[0].node->is_variable() && AreOthersUnused(graph, id) &&
                          graph.node(id).FindAttr(kOutputNameAttr) == nullptr;
        if (!goes) return rewriter.Keep(id, std::move(inputs));
        return std::vector<NodeEntry>(static_cast<std::size_t>(graph.node(id).num_outputs()), inputs[0]);
      })
      .graph;
}

Graph RemoveRepeatedCasts(const Graph& graph) {
  Rewriter rewriter(graph);
  return rewriter
      .Run([&](NodeId id, std::vector<NodeEntry> inputs) {
        return IsRepeatedCast(graph, id) ? inputs : rewriter.Keep(id, std::move(inputs));
      })
      .graph;
}

Graph AbsorbFloatCasts(const Graph& graph) {
  Rewriter rewriter(graph);
  return rewriter
      .Run([&](NodeId id, std::vector<NodeEntry> inputs) {
        if (!IsAbsorbed(graph, id)) return rewriter.Keep(id, std::move(inputs));
        return rewriter.Replace(WritingFloat32(*inputs[0].node, graph.node(id)));
      })
      .graph;
}

}  // namespace amp
