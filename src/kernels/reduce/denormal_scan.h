// What bfloat16 instructions would lose of an operand: how small its numbers are. All of it works on bits: no mode of
// the floating-point environment matters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace amp::kernels {

// The magnitude of a bfloat16 as an integer that grows with it; that of an infinity or NaN is larger than all others'.
using Magnitude = std::uint16_t;
inline constexpr Magnitude kMagnitudeMask = 0x7FFF, kInfiniteMagnitude = 0x7F80;
inline constexpr Magnitude kLeastNormal = 0x0080;

// The rows of a bfloat16 tensor. The elements of one row are those that one sum of products reads.
class RowScan {
 public:
  static constexpr std::size_t kMaxAxes = 24;

  // A step along the axis moves by `stride` elements. `is_summed`: within a row; else from row to row. At most kMaxAxes
  // are longer than 1.
  void AddAxis(std::int64_t size, std::int64_t stride, bool is_summed);
  // After the last axis, before the first run.
  void Prepare();

  // At most the smallest of the rows' largest magnitudes, rows of zeros aside, and at least the smaller of that and
  // `enough`, which is above 0; kInfiniteMagnitude where all is 0. Rows are read until they have `enough`. Splits the
  // work among the threads of the scope (ParallelFor).
  Magnitude Run(const std::uint16_t* data, Magnitude enough) const;

 private:
  struct Axis {
    std::int64_t size = 1, stride = 0;
    bool is_summed = false;
  };
  struct Axes {
    std::array<Axis, kMaxAxes> axes;
    std::size_t count = 0;
    void Add(const Axis& axis);
    std::int64_t Size() const;
  };
  class Walk;

  Magnitude LargestOfRow(const std::uint16_t* row, Magnitude enough) const;
  Magnitude SmallestOfRows(const std::uint16_t* rows, std::int64_t count, Magnitude enough) const;

  Axes all_;
  Axes kept_, summed_;  // without the innermost one
  Axis inner_;          // that whose elements lie nearest to each other
};

struct Magnitudes {
  Magnitude largest = 0;
  Magnitude smallest = kInfiniteMagnitude;  // but 0
};
Magnitudes MagnitudesOf(const std::uint16_t* data, std::size_t count);

// x 2^exponent, which must be exact.
void ScaleUp(const std::uint16_t* from, std::uint16_t* to, std::size_t count, int exponent);
// x 2^-exponent in place, exponent >= 0; rounds once, into denormals.
void ScaleDown(float* numbers, std::size_t count, int exponent);

}  // namespace amp::kernels
