// Streams of random numbers in graphs.
#pragma once

#include <cstdint>

#include "kernels/elementwise/random.h"
#include "nnvm/error.h"
#include "nnvm/node.h"

namespace amp {

// `key` is the seed and the number of the run.
inline kernels::RandomStream RandomStreamOf(std::int64_t stream, const std::int64_t* key) {
  return {static_cast<std::uint64_t>(key[0]), static_cast<std::uint64_t>(key[1]), static_cast<std::uint64_t>(stream)};
}

// For nodes that have another form in graphs that run (UseRandomForms).
[[noreturn]] inline void RefuseToDraw(const Node& node) {
  throw UnsupportedError(node.Describe() + ": it draws random numbers, and there is no key for them");
}

}  // namespace amp
