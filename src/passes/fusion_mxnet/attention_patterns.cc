#include "passes/fusion_mxnet/attention_patterns.h"

#include <algorithm>
#include <optional>

namespace amp {
namespace {

bool IsOp(const Node& node, const char* op) { return node.op_name() == op && node.control_deps().empty(); }

// A projection (batch, length, heads * size) as (batch, heads, length, size).
struct Heads {
  NodeId swap, reshape;
  EntryId projection;
  std::int64_t heads;
};

std::optional<Heads> HeadsBehind(const Graph& graph, EntryId entry) {
  const NodeId swap = graph.NodeOf(entry);
  if (!IsOp(graph.node(swap), "SwapAxis") || graph.OnlyReaderOf(swap) == nullptr) return std::nullopt;
  IntTuple axes{graph.node(swap).Attr<std::int64_t>("dim1"), graph.node(swap).Attr<std::int64_t>("dim2")};
  if (axes != IntTuple{1, 2} && axes != IntTuple{2, 1}) return std::nullopt;
  const NodeId reshape = graph.NodeOf(graph.InputsOf(swap)[0]);
  if (!IsOp(graph.node(reshape), "_npx_reshape") || graph.OnlyReaderOf(reshape) == nullptr) return std::nullopt;
  const auto shape = graph.node(reshape).Attr<IntTuple>("newshape");
  const bool splits = shape.size() == 4 && shape[0] == -2 && shape[1] == -2 && shape[2] > 0 && shape[3] == -1;
  if (!splits || graph.node(reshape).Attr<bool>("reverse")) return std::nullopt;
  return Heads{swap, reshape, graph.InputsOf(reshape)[0], shape[2]};
}

// Three equal parts of the last axis, each of which is read.
bool SplitsProjections(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool splits = IsOp(node, "_split_v2") && node.Attr<std::int64_t>("axis") == -1 &&
                      node.Attr<std::int64_t>("sections") == 3 && !node.Attr<bool>("squeeze_axis");
  for (std::uint32_t part = 0; splits && part < 3; ++part) {
    if (graph.IsOutput(graph.EntryOf(id, part))) return false;
  }
  return splits;
}

struct Scores {
  NodeId product;
  Heads queries, keys;
};

std::optional<Scores> ScoresAt(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool is_product = IsOp(node, "batch_dot") && !node.Attr<bool>("transpose_a") && node.Attr<bool>("transpose_b");
  if (!is_product) return std::nullopt;
  const std::optional<Heads> queries = HeadsBehind(graph, graph.InputsOf(id)[0]);
  const std::optional<Heads> keys = HeadsBehind(graph, graph.InputsOf(id)[1]);
  if (!queries || !keys || queries->heads != keys->heads) return std::nullopt;
  return Scores{id, *queries, *keys};
}

FusionGroup GroupOf(std::vector<NodeId> members, const std::string& op, std::size_t number, std::int64_t heads,
                    std::vector<EntryId> inputs) {
  std::sort(members.begin(), members.end());
  return {std::move(members), op,   op + std::to_string(number), {{"heads", std::to_string(heads)}},
          std::move(inputs),  false};
}

std::vector<NodeId> MembersOf(const Scores& s) {
  return {s.queries.reshape, s.queries.swap, s.keys.reshape, s.keys.swap, s.product};
}

// Do the queries and keys come from parts 0 and 1 of one split, whose parts have one reader each?
bool AreOfOneSplit(const Graph& graph, const Scores& s) {
  const NodeId split = graph.NodeOf(s.queries.projection);
  const bool is_split = SplitsProjections(graph, split) && s.queries.projection == graph.EntryOf(split, 0) &&
                        s.keys.projection == graph.EntryOf(split, 1);
  for (std::uint32_t part = 0; is_split && part < 3; ++part) {
    if (graph.ConsumersOf(graph.EntryOf(split, part)).size() != 1) return false;
  }
  return is_split;
}

// transpose and reshape behind the product of attention and values; empty where they are not these.
std::vector<NodeId> MergedHeads(const Graph& graph, NodeId product) {
  if (graph.OnlyReaderOf(product) == nullptr) return {};
  const NodeId transpose = graph.ConsumersOf(graph.EntryOf(product, 0))[0].node;
  const Node& turned = graph.node(transpose);
  if (!IsOp(turned, "_npi_transpose") || turned.Attr<IntTuple>("axes") != IntTuple{0, 2, 1, 3}) return {};
  if (graph.OnlyReaderOf(transpose) == nullptr) return {};
  const NodeId reshape = graph.ConsumersOf(graph.EntryOf(transpose, 0))[0].node;
  const Node& merged = graph.node(reshape);
  const bool merges = IsOp(merged, "_npx_reshape") && !merged.Attr<bool>("reverse") &&
                      merged.Attr<IntTuple>("newshape") == IntTuple{-2, -2, -1};
  return merges ? std::vector<NodeId>{transpose, reshape} : std::vector<NodeId>();
}

}  // namespace

std::vector<FusionGroup> FindScoresOfSplit(const Graph& graph) {
  std::vector<FusionGroup> groups;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const std::optional<Scores> scores = ScoresAt(graph, id);
    if (!scores || !AreOfOneSplit(graph, *scores)) continue;
    const EntryId split = graph.InputsOf(graph.NodeOf(scores->queries.projection))[0];
    groups.push_back(
        GroupOf(MembersOf(*scores), "_sg_onednn_selfatt_qk_split", groups.size(), scores->queries.heads, {split}));
  }
  return groups;
}

std::vector<FusionGroup> FindScores(const Graph& graph) {
  std::vector<FusionGroup> groups;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const std::optional<Scores> scores = ScoresAt(graph, id);
    if (!scores || graph.IndexOf(scores->queries.projection) > 1 || graph.IndexOf(scores->keys.projection) > 1)
      continue;
    groups.push_back(GroupOf(MembersOf(*scores), "_sg_onednn_selfatt_qk", groups.size(), scores->queries.heads,
                             {scores->queries.projection, scores->keys.projection}));
  }
  return groups;
}

std::vector<FusionGroup> FindWeightedValues(const Graph& graph) {
  std::vector<FusionGroup> groups;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    if (!IsOp(node, "batch_dot") || node.Attr<bool>("transpose_a") || node.Attr<bool>("transpose_b")) continue;
    const std::optional<Heads> values = HeadsBehind(graph, graph.InputsOf(id)[1]);
    const std::vector<NodeId> merged = MergedHeads(graph, id);
    if (!values || merged.empty()) continue;
    const NodeId split = graph.NodeOf(values->projection);
    const bool is_last_part = SplitsProjections(graph, split) && values->projection == graph.EntryOf(split, 2);
    if (!is_last_part || graph.ConsumersOf(graph.EntryOf(split, 0)).size() != 0 ||
        graph.ConsumersOf(graph.EntryOf(split, 1)).size() != 0 || graph.ConsumersOf(values->projection).size() != 1) {
      continue;
    }
    FusionGroup group =
        GroupOf({split, values->reshape, values->swap, id, merged[0], merged[1]}, "_sg_onednn_selfatt_valatt",
                groups.size(), values->heads, {graph.InputsOf(id)[0], graph.InputsOf(split)[0]});
    group.name = "_sg_onednn_selfatt_valatt_" + std::to_string(groups.size());  // MXNet's spelling
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<FusionGroup> FindInterleaved(const FusionScope& scope) {
  constexpr std::string_view kStem = "_contrib_interleaved_matmul_";
  std::vector<FusionGroup> groups;
  for (NodeId id = 0; id < scope.graph.num_nodes(); ++id) {
    const Node& node = scope.graph.node(id);
    const bool fits = IsOp(node, "_contrib_interleaved_matmul_selfatt_qk") ||
                      IsOp(node, "_contrib_interleaved_matmul_selfatt_valatt");
    const Node* origin = OriginOf(scope, id);
    if (!fits || (scope.origins != nullptr && origin == nullptr)) continue;
    const std::string op = "sg_mkldnn_" + node.op_name().substr(kStem.size());
    const std::string name = origin != nullptr ? origin->name() : fmt::format("{}_{}", op, groups.size());
    groups.push_back(
        {{id},
         "_" + op,
         name,
         {{"heads", node.Attr<std::string>("heads")}, {"quantized", "False"}, {"enable_float_output", "False"}}});
  }
  return groups;
}

}  // namespace amp
