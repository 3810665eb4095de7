// Borders around an array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace amp::kernels {

// What a border shows.
enum class PadMode : std::uint8_t {
  kConstant,
  kEdge,       // the nearest element
  kReflect,    // the elements there and back again, with the ends once
  kSymmetric,  // the same with the ends twice
};

// The position on an axis of `size` elements that position `i`, which may lie outside, shows; -1: the constant.
std::int64_t ShownPosition(PadMode mode, std::int64_t i, std::int64_t size);

struct PadAxis {
  std::int64_t size = 1, before = 0, after = 0;
};

class Pad {
 public:
  // `axes` outermost first; both sides are row-major. `constant` holds the bytes of an element. Only in mode constant
  // may an axis with borders be empty.
  Pad(PadMode mode, std::vector<PadAxis> axes, std::size_t element_bytes, std::uint64_t constant);

  // Splits the work among the threads of the scope (ParallelFor).
  void Run(const void* from, void* to) const;

 private:
  // Places along an axis: for each position in the result how far behind the first element of the data its elements
  // begin; -1: they are constants. Only borders have a table: axes may be longer than memory.
  class Places {
   public:
    Places() = default;
    Places(PadMode mode, const PadAxis& axis, std::int64_t stride);

    std::int64_t size() const { return axis_.before + axis_.size + axis_.after; }
    std::int64_t At(std::int64_t i) const {
      const std::int64_t inside = i - axis_.before;
      if (inside >= 0 && inside < axis_.size) return inside * stride_;
      return borders_[static_cast<std::size_t>(inside < 0 ? i : i - axis_.size)];
    }

   private:
    PadAxis axis_;
    std::int64_t stride_ = 0;
    std::vector<std::int64_t> borders_;
  };

  template <class T>
  void RunAs(const T* from, T* to) const;
  template <class T>
  void WriteRow(const T* from, T* to) const;
  std::int64_t PlaceOf(std::int64_t outer) const;

  std::vector<Places> outer_;
  PadAxis row_;
  Places row_places_;
  std::int64_t chunk_ = 1;  // elements at a position of a row
  std::size_t element_bytes_;
  std::uint64_t constant_;
};

}  // namespace amp::kernels
