// Tile registers (AMX): 16 rows of 64 bytes each. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace amp::kernels {
namespace {

constexpr std::int64_t kTileRows = 16, kTileBytes = 64;  // bytes of a row

// Of all eight. The compiler does not know what instructions of tiles read: all that was written before is in memory
// then.
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
  asm volatile("" : : "r"(&configuration) : "memory");
  _tile_loadconfig(&configuration);
}

}  // namespace
}  // namespace amp::kernels
