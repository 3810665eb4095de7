// Rows that are added to the rows that indices name: the gradient of a lookup.
#pragma once

#include <cstddef>
#include <cstdint>

namespace amp::kernels {

// `count` rows of `width` numbers on their way to `rows` rows.
struct ScatterRows {
  std::int64_t count = 0, rows = 0, width = 0;
};

std::size_t ScatterRowsScratchBytes(const ScatterRows& job);

// Row r of `to` is the sum of all rows of `from` whose index is r, in order. Splits the rows of `to` among the threads
// of the scope (ParallelFor); the result does not depend on their number. Indices are in range. Allocates nothing.
void RunScatterRows(const ScatterRows& job, const float* from, const std::int64_t* indices, float* to, void* scratch);

}  // namespace amp::kernels
