// Tensor shapes, of which the rank or single dimensions may be unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nnvm/dtype.h"

namespace amp {

constexpr std::int64_t kUnknownDim = -1;
constexpr int kMaxRank = 32;

class Shape {
 public:
  Shape() = default;  // rank unknown
  Shape(std::initializer_list<std::int64_t> dims) : known_(true), dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : known_(true), dims_(std::move(dims)) {}
  static Shape OfRank(int rank) { return Shape(std::vector<std::int64_t>(rank, kUnknownDim)); }

  bool rank_known() const { return known_; }
  int rank() const { return static_cast<int>(dims_.size()); }  // 0 where the rank is unknown
  const std::vector<std::int64_t>& dims() const { return dims_; }
  std::int64_t operator[](int axis) const { return dims_[axis]; }
  std::int64_t& operator[](int axis) { return dims_[axis]; }
  bool operator==(const Shape&) const = default;

  // All dimensions known.
  bool fully_known() const;
  // Number of elements; throws GraphError when it does not fit 2^62, InternalError where unknown.
  std::int64_t size() const;
  // Product of the dimensions [begin, end).
  std::int64_t SizeOf(int begin, int end) const;

  // "[2,3,?]", "[]", or "?" where the rank is unknown; cut off behind kMaxRank + 1 sizes.
  std::string ToString() const;

 private:
  bool known_ = false;
  std::vector<std::int64_t> dims_;
};

struct TensorType {
  DType dtype = DType::kUnknown;
  Shape shape;

  bool operator==(const TensorType&) const = default;
  bool fully_known() const { return IsKnown(dtype) && shape.fully_known(); }
  std::int64_t bytes() const;
  std::string ToString() const;  // "float32[1,3,224,224]"
};

// Merges what two sources know of one shape into `*into`. Returns false when they contradict each other (and leaves
// `*into` alone); sets `*changed` when `*into` learnt something.
bool MergeShape(Shape* into, const Shape& other, bool* changed);

// Axis in [-rank, rank) to [0, rank); nullopt outside.
std::optional<int> NormalizeAxis(std::int64_t axis, int rank);

}  // namespace amp
