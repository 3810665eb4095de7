// For reference kernels: elements of an array at places that a function names.
#pragma once

#include <cstring>
#include <vector>

#include "ops/common/numeric.h"

namespace amp {

// One element of the dtype that holds `value`.
inline NDArray OneElement(DType dtype, double value) {
  NDArray one(dtype, Shape{1});
  Store(std::vector<double>{value}, one);
  return one;
}

// Its bytes, the others 0.
inline std::uint64_t BytesOfOne(DType dtype, double value) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, OneElement(dtype, value).data(), static_cast<std::size_t>(BytesOf(dtype)));
  return bytes;
}

using Index = std::vector<std::int64_t>;

// Element `index` of `out` is the element of `in` (same dtype) at place(index), counted in row-major order; that of
// `otherwise` where the place is negative.
template <class Place>
void FromPlaces(const NDArray& in, const NDArray& otherwise, NDArray& out, Place&& place) {
  const auto bytes = static_cast<std::size_t>(BytesOf(in.dtype()));
  const Shape& shape = out.shape();
  Index index(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const std::int64_t from = place(index);
    const char* source = from < 0 ? otherwise.As<char>() : in.As<char>() + from * bytes;
    std::memcpy(out.As<char>() + i * bytes, source, bytes);
    for (int a = shape.rank(); a-- > 0 && ++index[a] == shape[a];) {
      index[a] = 0;
    }
  }
}

// The place of an element in row-major order.
inline std::int64_t PlaceOf(const Index& index, const Shape& shape) {
  std::int64_t place = 0;
  for (int a = 0; a < shape.rank(); ++a) place = place * shape[a] + index[a];
  return place;
}

}  // namespace amp
