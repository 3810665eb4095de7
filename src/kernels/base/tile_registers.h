// Tile registers (AMX): 16 rows of 64 bytes each. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace amp::kernels {
namespace {

constexpr std::int64_t kTileRows = 16, kTileBytes = 64;  // bytes of a row

// The compiler does not know what instructions of tiles read: all that was written before is in memory behind this.
[[gnu::always_inline]] inline void EndWrites() { asm volatile("" : : : "memory"); }

// Configures all eight.
void ConfigureTiles() {
  struct alignas(64) {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};
  } configuration;
  for (int i = 0; i < 8; ++i) {
    configuration.row_bytes[i] = kTileBytes;
    configuration.rows[i] = kTileRows;
  }
  asm volatile("" : : "r"(&configuration) : "memory");  // it is read as a whole
  _tile_loadconfig(&configuration);
}

// Tiles 0 to 3 hold sums of up to 32 rows and output channels: tile 1 of the second 16 channels, tiles 2 and 3 of the
// second 16 rows.

template <int kRowTiles, int kColumnTiles>
[[gnu::always_inline]] inline void ClearSums() {
  _tile_zero(0);
  if constexpr (kColumnTiles > 1) _tile_zero(1);
  if constexpr (kRowTiles > 1) _tile_zero(2);
  if constexpr (kRowTiles > 1 && kColumnTiles > 1) _tile_zero(3);
}

// Adds products of 32 input channels. `second`: of the second 16 rows. A pair of input channels of the weights has 128
// bytes.
template <int kRowTiles, int kColumnTiles>
[[gnu::always_inline]] inline void AddProducts(const char* first, const char* second, std::int64_t row_bytes,
                                               const char* weights) {
  _tile_loadd(6, weights, 2 * kTileBytes);
  _tile_loadd(4, first, row_bytes);
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (kRowTiles > 1) {
    _tile_loadd(5, second, row_bytes);
    _tile_dpbf16ps(2, 5, 6);
  }
  if constexpr (kColumnTiles > 1) {
    _tile_loadd(7, weights + kTileBytes, 2 * kTileBytes);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kRowTiles > 1) _tile_dpbf16ps(3, 5, 7);
  }
}

// Writes them, so many bytes from one row to the next. `second`: where the second 16 rows go.
template <int kRowTiles, int kColumnTiles>
[[gnu::always_inline]] inline void StoreSums(float* first, float* second, std::int64_t row_bytes) {
  constexpr std::int64_t kNumbers = kTileBytes / static_cast<std::int64_t>(sizeof(float));
  _tile_stored(0, first, row_bytes);
  if constexpr (kColumnTiles > 1) _tile_stored(1, first + kNumbers, row_bytes);
  if constexpr (kRowTiles > 1) _tile_stored(2, second, row_bytes);
  if constexpr (kRowTiles > 1 && kColumnTiles > 1) _tile_stored(3, second + kNumbers, row_bytes);
}

}  // namespace
}  // namespace amp::kernels
