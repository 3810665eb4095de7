#include "passes/tiling_accumulation.h"

#include <utility>
#include <vector>

#include "nnvm/graph.h"
#include "nnvm/rewriter.h"

namespace amp {
namespace {

bool FollowsTiling(const Node& node) { return !node.is_variable() && node.op()->Find<SumsInTiles>() != nullptr; }

std::optional<DType> AccumulatorOf(const std::string& text) {
  if (text == "fp32") return DType::kFloat32;
  if (text == "bf16") return DType::kBFloat16;
  return std::nullopt;
}

bool SaysTiling(const Node& node) {
  return node.FindAttr(kTilingAccumAttr) != nullptr || node.FindAttr(kTileKAttr) != nullptr;
}

// The graph's outputs, with the attributes on all nodes that follow them, those of subgraphs included.
std::vector<NodeEntry> WithAttrs(const Graph& graph, const AttrMap& added) {
  Rewriter rewriter(graph);
  return rewriter
      .Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
        const Node& node = graph.node(id);
        std::vector<NodeEntry> kept = rewriter.KeepNode(id, std::move(inputs));
        const bool follows = FollowsTiling(node) && !SaysTiling(node);
        if (!follows && node.subgraphs().empty()) return kept;
        const Node& now = *kept[0].node;
        AttrMap attrs = now.attrs();
        if (follows) attrs.insert(added.begin(), added.end());
        Subgraphs subgraphs;
        for (const auto& outputs : node.subgraphs()) subgraphs.push_back(WithAttrs(Graph(outputs), added));
        return rewriter.Replace(Node::Make({now.op(), now.name(), std::move(attrs), now.inputs(), now.control_deps(),
                                            now.phase(), std::move(subgraphs)}));
      })
      .graph.outputs();
}

}  // namespace

std::optional<Tiling> TilingOf(const Node& node) {
  if (!FollowsTiling(node)) return std::nullopt;
  const std::string *accumulator = node.FindAttr(kTilingAccumAttr), *tile_k = node.FindAttr(kTileKAttr);
  if (accumulator == nullptr && tile_k == nullptr) return std::nullopt;
  if (accumulator == nullptr) FailAt(node, "attribute {}: {} is missing", kTileKAttr, kTilingAccumAttr);
  if (tile_k == nullptr) FailAt(node, "attribute {}: {} is missing", kTilingAccumAttr, kTileKAttr);
  const std::optional<DType> dtype = AccumulatorOf(*accumulator);
  if (!dtype)
    FailAt(node, "attribute {}: expected 'fp32' or 'bf16', got '{}'", kTilingAccumAttr, Quotable(*accumulator));
  Tiling tiling{*dtype, 0};
  if (!ParseAttr(*tile_k, &tiling.tile_k) || tiling.tile_k < 1) {
    FailAt(node, "attribute {}: expected a number above 0, got '{}'", kTileKAttr, Quotable(*tile_k));
  }
  return tiling;
}

std::int64_t CountTiles(const Node& node, const Tiling& tiling, std::int64_t k) {
  const std::int64_t tiles = k / tiling.tile_k + (k % tiling.tile_k != 0);
  if (tiles > kMaxTiles) {
    FailAt(node, "attribute {}: a sum of {} products would have {} tiles, more than {}", kTileKAttr, k, tiles,
           kMaxTiles);
  }
  return tiles;
}

Symbol WithTiling(const Symbol& symbol, const std::string& accumulator, std::int64_t tile_k) {
  if (!AccumulatorOf(accumulator)) {
    Throw<ArgumentError>("tiling_accum: expected 'fp32' or 'bf16', got '{}'", Quotable(accumulator));
  }
  if (tile_k < 1) Throw<ArgumentError>("tile_k: expected a number above 0, got {}", tile_k);
  return Symbol(WithAttrs(symbol.ToGraph(), {{kTilingAccumAttr, accumulator}, {kTileKAttr, std::to_string(tile_k)}}),
                symbol.np_shape());
}

}  // namespace amp
