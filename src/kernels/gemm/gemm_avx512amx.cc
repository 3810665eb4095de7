#include "kernels/gemm/gemm.h"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__AVX512BW__) && \
    defined(__AVX512VL__)

#include "kernels/gemm/gemm_tile_products.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

void Run(const Gemm& job, const GemmPart& part, void* tiles, float* /*sums*/) {
  const bool is_tiled = IsTiled(job, part);
  const Packing packing(job, part, tiles);
  const Grid grid = packing.FindGrid();
  Rows rows;
  if (is_tiled) {
    const char* first = GemmRows<Vectors>(job, part.data.source, part.first_row).get();
    rows = {first, job.source.pixel * kElement, kTileBytes, job.in_channels / kDepth};
  } else {
    rows = grid.exists() ? packing.PackGrid(grid) : packing.Pack();
  }
  ConfigureTiles();
  Computation(job, part, rows, grid, !is_tiled).Compute();
  _tile_release();
}

constexpr GemmTable kTable = {Isa::kAvx512, {nullptr, Run, nullptr}, {nullptr, nullptr, nullptr}, 2 * kGemmTileRows};

}  // namespace

const GemmTable* GemmTable::Avx512AMX() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const GemmTable* GemmTable::Avx512AMX() { return nullptr; }

}  // namespace amp::kernels

#endif
