// Streams of random numbers in graphs.
#pragma once

#include <cstdint>
#include <string>

namespace amp {

// A stable number for a node's name (FNV-1a): equal graphs draw equal numbers.
inline std::int64_t StreamOf(const std::string& name) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  return static_cast<std::int64_t>(hash >> 1);
}

}  // namespace amp
