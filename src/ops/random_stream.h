// Streams of random numbers in graphs.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/random.h"
#include "nnvm/error.h"
#include "nnvm/node.h"

namespace amp {

// A stable number for a node's name (FNV-1a): equal graphs draw equal numbers.
inline std::int64_t StreamOf(const std::string& name) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  return static_cast<std::int64_t>(hash >> 1);
}

// `key` is the seed and the number of the run.
inline kernels::RandomStream RandomStreamOf(std::int64_t stream, const std::int64_t* key) {
  return {static_cast<std::uint64_t>(key[0]), static_cast<std::uint64_t>(key[1]), static_cast<std::uint64_t>(stream)};
}

// For nodes that have another form in graphs that run (UseRandomForms).
[[noreturn]] inline void RefuseToDraw(const Node& node) {
  throw UnsupportedError(node.Describe() + ": it draws random numbers, and there is no key for them");
}

}  // namespace amp
