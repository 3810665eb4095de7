#include "nnvm/borrowed_memory.h"

#include <gtest/gtest.h>

namespace amp {
namespace {

TEST(BorrowedMemory, ArraysAndTheirPartsAreBorrowed) {
  const NDArray array(DType::kFloat32, {4, 3}), other(DType::kFloat32, {4, 3}), state(DType::kFloat32, {2});
  const BorrowedMemory borrowed({{{"w", array}}, {{"s", state}}});
  EXPECT_TRUE(borrowed.Has(array) && borrowed.Has(state) && borrowed.Has(array.Reshaped({12})));
  const NDArray last_row(TensorType{DType::kFloat32, {3}}, array.As<float>() + 9, array.owner());
  EXPECT_TRUE(borrowed.Has(last_row));
  EXPECT_FALSE(borrowed.Has(other));
  const NDArray behind(TensorType{DType::kFloat32, {1}}, array.As<float>() + 12, array.owner());
  EXPECT_FALSE(borrowed.Has(behind));
  EXPECT_FALSE(BorrowedMemory({}).Has(array));
}

TEST(BorrowedMemory, OfTwoArraysInOnePlaceTheLargerOneCounts) {
  const NDArray whole(DType::kFloat32, {4}), first(TensorType{DType::kFloat32, {1}}, whole.As<float>(), whole.owner());
  const BorrowedMemory borrowed({{{"a", whole}, {"b", first}}, {}});
  EXPECT_TRUE(borrowed.Has(NDArray(TensorType{DType::kFloat32, {1}}, whole.As<float>() + 3, whole.owner())));
}

}  // namespace
}  // namespace amp
