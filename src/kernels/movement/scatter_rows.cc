#include "kernels/movement/scatter_rows.h"

#include <algorithm>
#include <cstring>

#include "kernels/threads/parallel.h"

namespace amp::kernels {

std::size_t ScatterRowsScratchBytes(const ScatterRows& job) {
  return static_cast<std::size_t>(job.rows + 1 + job.count) * sizeof(std::int64_t);
}

void RunScatterRows(const ScatterRows& job, const float* from, const std::int64_t* indices, float* to, void* scratch) {
  // Rows of `from` by the row that they go to: those of row r are sources[ends[r - 1]] to sources[ends[r] - 1].
  auto* ends = static_cast<std::int64_t*>(scratch) + 1;
  auto* sources = ends + job.rows;
  std::fill_n(ends - 1, job.rows + 1, std::int64_t{0});
  for (std::int64_t i = 0; i < job.count; ++i) ++ends[indices[i]];
  for (std::int64_t r = 0, sum = 0; r < job.rows; ++r) {  // where each begins
    const std::int64_t number = ends[r];
    ends[r] = sum;
    sum += number;
  }
  for (std::int64_t i = 0; i < job.count; ++i) sources[ends[indices[i]]++] = i;
  const auto row_bytes = static_cast<std::size_t>(job.width) * sizeof(float);
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 13) / std::max<std::int64_t>(1, job.width));
  ParallelFor(job.rows, grain, [&](std::int64_t r) {
    float* row = to + r * job.width;
    const std::int64_t begin = ends[r - 1], end = ends[r];
    if (begin == end) std::memset(row, 0, row_bytes);
    for (std::int64_t i = begin; i < end; ++i) {
      const float* source = from + sources[i] * job.width;
      if (i == begin) {
        std::memcpy(row, source, row_bytes);
      } else {
        for (std::int64_t k = 0; k < job.width; ++k) row[k] += source[k];
      }
    }
  });
}

}  // namespace amp::kernels
