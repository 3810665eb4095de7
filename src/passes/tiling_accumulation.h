// Sums of products in tiles along the summed axis: what attributes of a node ask for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nnvm/dtype.h"
#include "nnvm/node.h"
#include "nnvm/symbol.h"

namespace amp {

// "fp32" or "bf16": the dtype of the sum of tiles, rounded to it after each of them.
inline constexpr const char* kTilingAccumAttr = "__tiling_accum__";
// Products in a tile; the last tile may have fewer.
inline constexpr const char* kTileKAttr = "__tile_k__";

struct Tiling {
  DType accumulator = DType::kFloat32;  // or bfloat16
  std::int64_t tile_k = 0;
};

// Fact of an operator that follows the attributes. Others ignore them.
struct SumsInTiles {};

// A plan for one node has at most so many tiles.
inline constexpr std::int64_t kMaxTiles = 4096;

// What the attributes of a node of such an operator say; nullopt where they say nothing. Throws GraphError for one
// without the other and for bad values.
std::optional<Tiling> TilingOf(const Node& node);
// The number of tiles of `k` products; throws GraphError for more than kMaxTiles.
std::int64_t CountTiles(const Node& node, const Tiling& tiling, std::int64_t k);

// The symbol with both attributes on all its nodes that follow them and have neither, those of subgraphs included.
// Throws ArgumentError for bad values.
Symbol WithTiling(const Symbol& symbol, const std::string& accumulator, std::int64_t tile_k);

}  // namespace amp
