// For reference kernels: arrays as vectors of the type that they compute in, and back with one rounding.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "nnvm/error.h"
#include "nnvm/ndarray.h"
#include "program/kernel_types.h"

namespace amp {

template <class T>
constexpr DType kDTypeOf = DType::kUnknown;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFloat64;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::kInt64;

template <class T>
std::vector<T> Numbers(const NDArray& array) {
  std::vector<T> values(array.size());
  kernels::Cast(KernelType(array.dtype()), array.data(), KernelType(kDTypeOf<T>), values.data(), values.size());
  return values;
}

template <class T>
void Store(const std::vector<T>& values, NDArray& array) {
  kernels::Cast(KernelType(kDTypeOf<T>), values.data(), KernelType(array.dtype()), array.data(), values.size());
}

// Calls f with a value of the type to compute in: double for float64, float for the other float dtypes.
template <class F>
void WithFloatType(DType dtype, F&& f) {
  if (dtype == DType::kFloat64) return f(double{});
  if (!IsFloat(dtype)) Throw<UnsupportedError>("no kernel for dtype {}", NameOf(dtype));
  f(float{});
}

// Like WithFloatType, with int64 for all integers and bool.
template <class F>
void WithNumberType(DType dtype, F&& f) {
  if (IsFloat(dtype)) return WithFloatType(dtype, std::forward<F>(f));
  f(std::int64_t{});
}

// Applies f to every element of `in`, computing in float, double or int64.
template <class F>
void MapElements(const NDArray& in, NDArray& out, F&& f) {
  WithNumberType(in.dtype(), [&](auto zero) {
    auto values = Numbers<decltype(zero)>(in);
    for (auto& value : values) value = f(value);
    Store(values, out);
  });
}

// Axis i of the result is axis axes[i] of `in`.
NDArray Transposed(const NDArray& in, const std::vector<int>& axes);

// The elements of `from` (same dtype and size) into `to`.
void CopyElements(const NDArray& from, NDArray& to);

}  // namespace amp
