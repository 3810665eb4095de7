#include "kernels/gemm/pointwise.h"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__AVX512BW__) && \
    defined(__AVX512VL__)

#include "kernels/gemm/pointwise_tile_products.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

void Run(const Pointwise& job, const PointwisePart& part, void* tiles, float* /*sums*/) {
  const bool is_tiled = IsTiled(job, part);
  const Packing packing(job, part, tiles);
  const Grid grid = packing.FindGrid();
  Rows rows;
  if (is_tiled) {
    const char* first = PointwiseRows<Vectors>(job, part.data.source, part.first_row).get();
    rows = {first, job.source.pixel * kElement, kTileBytes, job.in_channels / kDepth};
  } else {
    rows = grid.exists() ? packing.PackGrid(grid) : packing.Pack();
  }
  ConfigureTiles();
  Computation(job, part, rows, grid, !is_tiled).Compute();
  _tile_release();
}

constexpr PointwiseTable kTable = {
    Isa::kAvx512, {nullptr, Run, nullptr}, {nullptr, nullptr, nullptr}, 2 * kPointwiseTileRows};

}  // namespace

const PointwiseTable* PointwiseTableAvx512AMX() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const PointwiseTable* PointwiseTableAvx512AMX() { return nullptr; }

}  // namespace amp::kernels

#endif
