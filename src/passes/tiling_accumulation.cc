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
  const Graph graph = symbol.ToGraph();
  Rewriter rewriter(graph);
  const RewriteResult result = rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
    std::vector<NodeEntry> kept = rewriter.KeepNode(id, std::move(inputs));
    const Node& node = graph.node(id);
    if (!FollowsTiling(node) || node.FindAttr(kTilingAccumAttr) != nullptr || node.FindAttr(kTileKAttr) != nullptr) {
      return kept;
    }
    AttrMap attrs = node.attrs();
    attrs[kTilingAccumAttr] = accumulator;
    attrs[kTileKAttr] = std::to_string(tile_k);
    return rewriter.Replace(kept[0].node->WithAttrs(std::move(attrs)));
  });
  return Symbol(result.graph.outputs(), symbol.np_shape());
}

}  // namespace amp
