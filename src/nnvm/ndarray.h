// A dense, row-major array that owns, shares or borrows its memory. Copies of an NDArray share it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "nnvm/shape.h"

namespace amp {

class NDArray {
 public:
  NDArray() = default;
  // Allocates uninitialised memory, 64-byte aligned. Throws ArgumentError for an unknown dtype or shape, and
  // Error when the memory is not supported.
  NDArray(DType dtype, Shape shape);
  // Memory of somebody else; `owner` keeps it alive. `data` holds type.bytes() bytes.
  NDArray(TensorType type, void* data, std::shared_ptr<const void> owner);

  static NDArray Zeros(DType dtype, Shape shape);

  bool defined() const { return IsKnown(type_.dtype); }
  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  std::int64_t size() const { return type_.shape.size(); }
  std::int64_t bytes() const { return type_.bytes(); }

  void* data() const { return data_; }
  template <class T>
  T* As() const {
    return static_cast<T*>(data_);
  }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // Whether it consists of pages of a file that nothing writes to in memory.
  bool is_mapped() const;
  // Such pages need no memory until they are read again.
  void LeavePages() const;

  // The elements under another shape of equal size; shares memory.
  NDArray Reshaped(Shape shape) const;

 private:
  TensorType type_;
  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

using NDArrayMap = std::map<std::string, NDArray>;

// Uninitialised memory of `bytes` bytes aligned to 64, in huge pages where it is large; freed with the last reference.
std::shared_ptr<void> AllocateAligned(std::size_t bytes);

}  // namespace amp
