#include "nnvm/crc32.h"

#include <array>
#include <cstring>

namespace amp {
namespace {

// Eight bytes per step: entry [k][b] is the checksum's change by byte b with k zero bytes behind it.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320u : 0u);
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = tables[k - 1][byte];
      tables[k][byte] = (shorter >> 8) ^ tables[0][shorter & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

}  // namespace

std::uint32_t Crc32(const void* bytes, std::size_t count, std::uint32_t before) {
  const auto* next = static_cast<const unsigned char*>(bytes);
  std::uint32_t value = ~before;
  for (; count >= 8; count -= 8, next += 8) {
    std::uint32_t low = 0;
    std::memcpy(&low, next, sizeof low);
    low ^= value;
    value = 0;
    for (int i = 0; i < 4; ++i) value ^= kTables[7 - i][(low >> (8 * i)) & 0xFF] ^ kTables[3 - i][next[4 + i]];
  }
  for (; count > 0; --count, ++next) value = (value >> 8) ^ kTables[0][(value ^ *next) & 0xFF];
  return ~value;
}

}  // namespace amp
