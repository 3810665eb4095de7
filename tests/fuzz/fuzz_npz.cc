// npy and npz files. Most mutations break an entry's checksum and would be refused for that alone: they are repaired.
#include <algorithm>
#include <array>

#include "params_target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace amp::fuzz {
namespace {

using Bytes = std::uint8_t*;

std::uint32_t Get32(const std::uint8_t* at) {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
std::uint16_t Get16(const std::uint8_t* at) {
  std::uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::uint32_t Crc32(const std::uint8_t* data, std::size_t size) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) ? 0xEDB88320u ^ (crc >> 1) : crc >> 1;
      made[i] = crc;
    }
    return made;
  }();
  std::uint32_t crc = ~0u;
  for (std::size_t i = 0; i < size; ++i) crc = table[(crc ^ data[i]) & 0xff] ^ (crc >> 8);
  return ~crc;
}

// Writes the checksum that belongs to the stored entry whose local header lies at `offset` into that header.
bool RepairLocal(Bytes data, std::size_t size, std::size_t offset, std::uint32_t* crc) {
  constexpr std::size_t kHeader = 30;
  if (offset > size || size - offset < kHeader || Get32(data + offset) != 0x04034b50) return false;
  const std::size_t begin = offset + kHeader + Get16(data + offset + 26) + Get16(data + offset + 28);
  const std::size_t length = Get32(data + offset + 18);
  if (begin > size || length > size - begin) return false;
  *crc = Crc32(data + begin, length);
  std::memcpy(data + offset + 14, crc, sizeof *crc);
  return true;
}

// The same for all entries of the directory at the end, and for those that only a local header tells of.
void RepairChecksums(Bytes data, std::size_t size) {
  std::uint32_t crc = 0;
  for (std::size_t i = 0; i + 46 <= size; ++i) {
    if (Get32(data + i) == 0x04034b50) RepairLocal(data, size, i, &crc);
    if (Get32(data + i) == 0x02014b50 && RepairLocal(data, size, Get32(data + i + 42), &crc)) {
      std::memcpy(data + i + 16, &crc, sizeof crc);
    }
  }
}

}  // namespace
}  // namespace amp::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 4 != 0) amp::fuzz::RepairChecksums(data, size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return amp::fuzz::TryParams(data, size);
}
