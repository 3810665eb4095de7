#include "nnvm/dtype.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"

namespace amp {
namespace {

using testing::ErrorOf;

struct Row {
  DType dtype;
  const char* name;
  int bytes;
  const char* numpy;
  int code;
  bool is_float;
};

// The numbers are those of MXNet's type flags, which files hold.
constexpr Row kRows[] = {
    {DType::kFloat32, "float32", 4, "<f4", 0, true}, {DType::kFloat64, "float64", 8, "<f8", 1, true},
    {DType::kFloat16, "float16", 2, "<f2", 2, true}, {DType::kUInt8, "uint8", 1, "|u1", 3, false},
    {DType::kInt32, "int32", 4, "<i4", 4, false},    {DType::kInt8, "int8", 1, "|i1", 5, false},
    {DType::kInt64, "int64", 8, "<i8", 6, false},    {DType::kBool, "bool", 1, "|b1", 7, false},
    {DType::kInt16, "int16", 2, "<i2", 8, false},    {DType::kUInt16, "uint16", 2, "<u2", 9, false},
    {DType::kUInt32, "uint32", 4, "<u4", 10, false}, {DType::kUInt64, "uint64", 8, "<u8", 11, false},
    {DType::kBFloat16, "bfloat16", 2, "", 12, true},
};

TEST(DType, TableAgreesWithMXNetAndNumPy) {
  for (const Row& row : kRows) {
    EXPECT_EQ(InfoOf(row.dtype).dtype, row.dtype) << row.name;
    EXPECT_EQ(NameOf(row.dtype), row.name);
    EXPECT_EQ(BytesOf(row.dtype), row.bytes) << row.name;
    EXPECT_EQ(InfoOf(row.dtype).numpy, row.numpy);
    EXPECT_EQ(InfoOf(row.dtype).mxnet_code, row.code) << row.name;
    EXPECT_EQ(IsFloat(row.dtype), row.is_float) << row.name;
    EXPECT_EQ(FindDType(row.name), row.dtype);
    EXPECT_EQ(DTypeFromName(row.name), row.dtype);
    EXPECT_EQ(DTypeFromMXNetCode(row.code), row.dtype);
    EXPECT_TRUE(IsKnown(row.dtype));
  }
}

TEST(DType, UnknownIsNoNameAndNoCode) {
  EXPECT_FALSE(IsKnown(DType::kUnknown));
  EXPECT_EQ(FindDType("unknown"), std::nullopt);
  EXPECT_EQ(InfoOf(DType::kUnknown).mxnet_code, std::nullopt);
  for (const std::int64_t code : {-1, 13, 1 << 20}) EXPECT_EQ(DTypeFromMXNetCode(code), std::nullopt);
}

TEST(DType, AnUnknownNameListsTheKnownOnes) {
  const std::string error = ErrorOf<ArgumentError>([] { DTypeFromName("float8"); });
  EXPECT_CONTAINS(error, "unknown dtype 'float8'; expected one of float32, float64, float16");
  EXPECT_CONTAINS(error, "bfloat16");
}

TEST(DType, LowPrecisionIsTheSixteenBitFloats) {
  for (const Row& row : kRows) EXPECT_EQ(IsLowPrecision(row.dtype), row.is_float && row.bytes == 2) << row.name;
}

TEST(DType, WidestFloat) {
  using enum DType;
  EXPECT_EQ(WidestFloat(kBFloat16, kBFloat16), kBFloat16);
  EXPECT_EQ(WidestFloat(kBFloat16, kFloat16), kFloat32);  // neither holds the other
  EXPECT_EQ(WidestFloat(kFloat16, kFloat32), kFloat32);
  EXPECT_EQ(WidestFloat(kFloat32, kFloat64), kFloat64);
  EXPECT_EQ(WidestFloat(kFloat64, kBFloat16), kFloat64);
}

}  // namespace
}  // namespace amp
