// Where buffers lie in one arena: buffers whose lives overlap never share bytes.
#pragma once

#include <cstddef>
#include <vector>

namespace amp {

// Written first in step `first`, read last in step `last` (both inclusive).
struct Buffer {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

struct ArenaPlan {
  std::vector<std::size_t> offsets;  // by buffer, multiples of 64
  std::size_t bytes = 0;
};

// Largest buffers first, each at the lowest offset where it fits.
ArenaPlan PlanArena(const std::vector<Buffer>& buffers);

}  // namespace amp
