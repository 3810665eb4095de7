// Arrays with recognisable bytes.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "nnvm/ndarray.h"

namespace amp::testing {

inline NDArray Iota(DType dtype, Shape shape) {
  NDArray array(dtype, std::move(shape));
  for (std::int64_t i = 0; i < array.bytes(); ++i) array.As<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7 + 1);
  return array;
}

inline void ExpectSame(const NDArray& a, const NDArray& b) {
  ASSERT_EQ(a.type(), b.type());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())), 0);
}

inline constexpr DType kAllDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kUInt8, DType::kInt32,
                                       DType::kInt8,    DType::kInt64,   DType::kBool,    DType::kInt16, DType::kUInt16,
                                       DType::kUInt32,  DType::kUInt64,  DType::kBFloat16};

}  // namespace amp::testing
