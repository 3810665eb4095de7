// Copies between two orders in memory, bit by bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace amp::kernels {

// Element (i, j, ...) is read `from[0] * i + from[1] * j + ...` elements behind the first and written `to[0] * i + ...`
// behind the first. Both sides have memory of their own.
class StridedCopy {
 public:
  static constexpr std::size_t kMaxAxes = 24;

  // Elements of 1, 2, 4 or 8 bytes.
  explicit StridedCopy(std::size_t element_bytes) : element_bytes_(element_bytes) {}

  // Axes may come in any order. At most kMaxAxes are longer than 1. `from` may be 0 (the element is repeated) or
  // negative (the axis is reversed), `to` neither.
  void AddAxis(std::int64_t size, std::int64_t from, std::int64_t to);
  // After the last axis, before the first run.
  void Prepare();
  // Splits the work among the threads of the scope (ParallelFor).
  void Run(const void* from, void* to) const;

 private:
  struct Axis {
    std::int64_t size = 1, from = 0, to = 0;
  };
  // How the two innermost axes are copied.
  enum class Way : std::uint8_t { kRows, kShortRows, kFill, kReversed, kTranspose, kElements };
  // The positions of the three innermost axes that are one call.
  struct Block {
    std::int64_t planes = 1, rows = 1, columns = 1;
  };

  void MergeAxes();
  void ChooseRows();
  void ChooseBlock();
  const Axis& columns() const { return axes_[num_axes_ - 1]; }
  const Axis& rows() const { return axes_[num_axes_ - 2]; }
  const Axis& planes() const { return axes_[num_axes_ - 3]; }

  template <class T>
  void RunAs(const T* from, T* to) const;
  template <class T>
  void CopyRows(const T* from, T* to, std::int64_t num_rows, std::int64_t num_columns) const;
  template <class T>
  void CopyTiles(const T* from, T* to, std::int64_t num_rows, std::int64_t num_columns) const;

  std::size_t element_bytes_;
  std::array<Axis, kMaxAxes + 3> axes_;  // the last three: planes, rows and columns
  std::size_t num_axes_ = 0;
  Block block_;
  Way way_ = Way::kElements;
  bool is_empty_ = false;
};

}  // namespace amp::kernels
