#include "program/rounding_errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "program/cast_arrays.h"

namespace amp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
NDArray ArrayOf(DType dtype, Shape shape, const std::vector<double>& values) {
  NDArray array(dtype, std::move(shape));
  std::transform(values.begin(), values.end(), array.As<T>(), [](double value) { return static_cast<T>(value); });
  return array;
}

NDArray Floats(Shape shape, const std::vector<double>& values) {
  return ArrayOf<float>(DType::kFloat32, std::move(shape), values);
}

TEST(RoundingErrors, AreMeansOfSquaresByRow) {
  const RoundingErrors found = RoundingErrorsOf(Floats({2, 2}, {1, -4, 0, 0.5}), Floats({2, 2}, {1, -2, 0, 0.25}));
  EXPECT_EQ(found.smallest, 0.5);
  EXPECT_EQ(found.largest, 4);
  EXPECT_FALSE(found.is_exact);
  EXPECT_EQ(found.errors, (std::vector<double>{2, 0.03125}));
  EXPECT_EQ(found.elements, (std::vector<double>{8.5, 0.125}));
}

TEST(RoundingErrors, OneAxisOrNoneIsOneRow) {
  const RoundingErrors vector = RoundingErrorsOf(Floats({2}, {1, 3}), Floats({2}, {1, 1}));
  EXPECT_EQ(vector.errors, (std::vector<double>{2}));
  EXPECT_EQ(vector.elements, (std::vector<double>{5}));
  const Shape scalar = Shape::OfRank(0);
  EXPECT_EQ(RoundingErrorsOf(Floats(scalar, {3}), Floats(scalar, {1})).errors, (std::vector<double>{4}));
}

TEST(RoundingErrors, WhatIsNotFiniteAndStaysHasNone) {
  const NDArray before = Floats({2, 3}, {kInfinity, 1, 2, -kInfinity, kNaN, 3});
  const RoundingErrors same = RoundingErrorsOf(before, before);
  EXPECT_TRUE(same.is_exact);
  EXPECT_EQ(same.errors, (std::vector<double>{0, 0}));
  EXPECT_EQ(same.largest, 3);
  const RoundingErrors found = RoundingErrorsOf(before, Floats({2, 3}, {kInfinity, 1, 5, -kInfinity, kNaN, 3}));
  EXPECT_FALSE(found.is_exact);
  EXPECT_EQ(found.errors, (std::vector<double>{3, 0}));
  EXPECT_EQ(found.elements, (std::vector<double>{5.0 / 3, 3}));
}

TEST(RoundingErrors, WhatOverflowsOrBecomesNaNHasAnInfiniteOne) {
  const NDArray before = Floats({4, 1}, {1e6, 1, kInfinity, kNaN});
  const RoundingErrors found = RoundingErrorsOf(before, Floats({4, 1}, {kInfinity, kNaN, -kInfinity, 0}));
  EXPECT_FALSE(found.is_exact);
  EXPECT_EQ(found.errors, std::vector<double>(4, kInfinity));
  const RoundingErrors half = RoundingErrorsOf(before, CastArray(before, DType::kFloat16));
  EXPECT_EQ(half.errors, (std::vector<double>{kInfinity, 0, 0, 0}));
}

TEST(RoundingErrors, Float64IsNotRoundedBefore) {
  const NDArray before = ArrayOf<double>(DType::kFloat64, {2, 1}, {1 + 0x1p-40, 1e200});
  const RoundingErrors found = RoundingErrorsOf(before, Floats({2, 1}, {1, 1}));
  EXPECT_FALSE(found.is_exact);
  EXPECT_EQ(found.errors[0], 0x1p-80);
  EXPECT_EQ(found.largest, 1e200);
  EXPECT_FALSE(RoundingErrorsOf(Floats({1}, {1}), ArrayOf<double>(DType::kFloat64, {1}, {1 + 0x1p-40})).is_exact);
}

}  // namespace
}  // namespace amp
