// The checksum of zip files (CRC-32, polynomial 0xEDB88320).
#pragma once

#include <cstddef>
#include <cstdint>

namespace amp {

// The checksum of some bytes, or of more bytes after those whose checksum is `before`.
std::uint32_t Crc32(const void* bytes, std::size_t count, std::uint32_t before = 0);

}  // namespace amp
