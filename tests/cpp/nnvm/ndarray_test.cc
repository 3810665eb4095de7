#include "nnvm/ndarray.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"

namespace amp {
namespace {

using testing::ErrorOf;

TEST(NDArray, AllocatesAligned) {
  for (const std::int64_t size : {0, 1, 63, 64, 1000}) {
    const NDArray array(DType::kInt8, {size});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0u);
    EXPECT_EQ(array.bytes(), size);
    EXPECT_TRUE(array.defined());
  }
  EXPECT_FALSE(NDArray().defined());
}

TEST(NDArray, LargeOnesBeginWithAHugePage) {
  constexpr std::int64_t kHugePage = 1 << 21;
  for (const std::int64_t size : {kHugePage, kHugePage + 1, 5 * kHugePage / 2}) {
    const NDArray array(DType::kInt8, {size});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % kHugePage, 0u);
    array.As<char>()[0] = array.As<char>()[size - 1] = 7;
  }
}

TEST(NDArray, CopiesShareMemory) {
  const NDArray a = NDArray::Zeros(DType::kFloat32, {2, 3});
  const NDArray b = a;
  const NDArray view = a.Reshaped({6});
  b.As<float>()[5] = 7;
  EXPECT_EQ(view.As<float>()[5], 7);
  EXPECT_EQ(view.shape(), Shape({6}));
  EXPECT_EQ(a.owner().use_count(), 3);
}

TEST(NDArray, BorrowsMemory) {
  float value = 3;
  const NDArray array({DType::kFloat32, Shape{1}}, &value, nullptr);
  EXPECT_EQ(array.data(), &value);
}

TEST(NDArray, Refuses) {
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { NDArray(DType::kUnknown, {1}); }),
                  "cannot allocate an array of type unknown[1]");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { NDArray(DType::kFloat32, {1, kUnknownDim}); }), "float32[1,?]");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { NDArray({DType::kFloat32, Shape()}, nullptr, nullptr); }), "cannot wrap");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { NDArray(DType::kInt8, {6}).Reshaped({4}); }),
                  "cannot view an array of shape [6] as [4]");
#if !defined(__SANITIZE_ADDRESS__)  // which ends the process instead
  EXPECT_CONTAINS(ErrorOf<Error>([] { NDArray(DType::kInt8, {std::int64_t{1} << 57}); }), "cannot allocate");
#endif
}

}  // namespace
}  // namespace amp
