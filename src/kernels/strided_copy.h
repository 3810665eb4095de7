// Copies of 16-bit elements between two orders in memory, bit by bit.
#pragma once

#include <array>
#include <cstdint>

namespace amp::kernels {

// Element (i, j, ...) is read `from[0] * i + from[1] * j + ...` elements behind the first and written `to[0] * i + ...`
// behind the first. Both sides have memory of their own.
class StridedCopy {
 public:
  static constexpr std::size_t kMaxAxes = 24;

  // Axes may come in any order. At most kMaxAxes are longer than 1.
  void AddAxis(std::int64_t size, std::int64_t from, std::int64_t to);
  // After the last axis, before the first run.
  void Prepare();
  // Splits the work among the threads of the scope (ParallelFor).
  void Run(const void* from, void* to) const;

 private:
  struct Axis {
    std::int64_t size = 1, from = 0, to = 0;
  };

  void MergeAxes();
  void CopyRows(const std::uint16_t* from, std::uint16_t* to, std::int64_t num_rows) const;

  std::array<Axis, kMaxAxes> axes_;  // the last two: rows and columns, which are next to each other in `to`, `from`
  std::size_t num_axes_ = 0;
  bool is_empty_ = false;
};

}  // namespace amp::kernels
