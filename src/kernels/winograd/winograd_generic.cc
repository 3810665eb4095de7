#include "kernels/base/tile_vectors_generic.h"
#include "kernels/winograd/winograd.h"
#include "kernels/winograd/winograd_kinds_code.h"

namespace amp::kernels {
namespace {

struct Ops : TileVectors {
  static constexpr bool kScales = false;
  template <int kCount, int kVectors>
  static void Product(const WinogradRows<float>& rows, const WinogradColumn<float>& packed, WinogradAhead,
                      float* products, std::int64_t row_stride) {
    const float *tiles = rows.tiles, *weights = packed.weights;
    Vector sums[kCount][kVectors] = {};
    for (std::int64_t depth = packed.depth; depth > 0; depth -= kWinogradBlock, tiles += rows.block_stride) {
      const std::int64_t count = depth < kWinogradBlock ? depth : kWinogradBlock;
      for (std::int64_t k = 0; k < count; ++k, weights += kWinogradColumns) {
        for (int v = 0; v < kVectors; ++v) {
          const Vector column = Code::Load(weights + v * kLanes);
          for (int r = 0; r < kCount; ++r) sums[r][v] += All(tiles[r * kWinogradBlock + k]) * column;
        }
      }
    }
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) Store<false>(products + r * row_stride + v * kLanes, kLanes, sums[r][v]);
    }
  }
};

constexpr WinogradTable kTable = [] {
  WinogradTable table{Isa::kGeneric, {}, {}, Ops::kRows};
  AddWinogradFloats<Ops>(&table);
  return table;
}();

}  // namespace

const WinogradTable* WinogradTable::Generic() { return &kTable; }

}  // namespace amp::kernels
