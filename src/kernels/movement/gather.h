// Rows that are somewhere else, one behind the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/base/elements.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {

// Calls f(first, last) for stretches of `count` rows, on the threads of the scope.
template <class F>
void ForRowBlocks(std::int64_t count, std::size_t row_bytes, const F& f) {
  constexpr std::int64_t kBlockBytes = 1 << 14, kGrainBytes = 1 << 15;
  const std::int64_t bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(row_bytes));
  const std::int64_t block = std::max<std::int64_t>(1, kBlockBytes / std::max<std::int64_t>(bytes, 8));
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainBytes / (block * std::max<std::int64_t>(bytes, 8)));
  ParallelFor((count + block - 1) / block, grain,
              [&](std::int64_t i) { f(i * block, std::min(count, (i + 1) * block)); });
}

// Row i of `to` is row place(i) of `from`; so are `count` rows.
template <class Place>
void GatherRows(const void* from, void* to, std::int64_t count, std::size_t row_bytes, const Place& place) {
  if (row_bytes == 0) return;
  // A size that the compiler knows makes a copy one or two instructions.
  const auto copy_rows = [&](std::int64_t first, std::int64_t last, auto size) {
    for (std::int64_t i = first; i < last; ++i) {
      std::memcpy(static_cast<char*>(to) + static_cast<std::size_t>(i) * size(),
                  static_cast<const char*>(from) + static_cast<std::size_t>(place(i)) * size(), size());
    }
  };
  const bool is_element = row_bytes == 1 || row_bytes == 2 || row_bytes == 4 || row_bytes == 8;
  ForRowBlocks(count, row_bytes, [&](std::int64_t first, std::int64_t last) {
    if (!is_element) return copy_rows(first, last, [row_bytes] { return row_bytes; });
    WithElementOf(row_bytes, [&](auto zero) { copy_rows(first, last, [] { return sizeof(zero); }); });
  });
}

}  // namespace amp::kernels
