#include "program/cast_arrays.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/base/float_bits.h"
#include "nnvm/compose.h"

namespace amp::onednn {
namespace {

using amp::testing::ErrorOf;

// Every float32 whose low half is a corner case, NaN and denormals among them.
NDArray Corners() {
  NDArray array(DType::kFloat32, {256, 16});
  std::size_t i = 0;
  for (std::uint32_t high = 0; high < 256; ++high) {
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      array.As<std::uint32_t>()[i++ % 4096] = (high * 0x0101u) << 16 | low;
    }
  }
  for (; i < 4096; ++i) array.As<std::uint32_t>()[i] = static_cast<std::uint32_t>(i * 0x9E3779B9u);
  return array;
}

TEST(CastArray, EqualsTheScalarDefinitionBitForBit) {
  const NDArray from = Corners();
  const NDArray to = CastArray(from, DType::kBFloat16);
  EXPECT_EQ(to.type().ToString(), "bfloat16[256,16]");
  for (std::int64_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(to.As<std::uint16_t>()[i], kernels::FloatToBF16(from.As<float>()[i])) << from.As<std::uint32_t>()[i];
  }
}

TEST(CastArray, TheSameDTypeSharesMemory) {
  const NDArray array = NDArray::Zeros(DType::kBFloat16, {2});
  EXPECT_EQ(CastArray(array, DType::kBFloat16).data(), array.data());
}

TEST(CastArrays, ReplacesWhatIsNamedInEitherGroup) {
  ModelParams params;
  params.args["a"] = params.args["b"] = NDArray::Zeros(DType::kFloat32, {2});
  params.aux["m"] = NDArray::Zeros(DType::kFloat32, {2});
  CastArrays({{"a", DType::kBFloat16}, {"m", DType::kFloat16}}, &params);
  EXPECT_EQ(params.args["a"].dtype(), DType::kBFloat16);
  EXPECT_EQ(params.args["b"].dtype(), DType::kFloat32);
  EXPECT_EQ(params.aux["m"].dtype(), DType::kFloat16);
  EXPECT_EQ(ErrorOf<ArgumentError>([&] {
              CastArrays({{"z", DType::kBFloat16}}, &params);
            }),
            "there is no array for the parameter 'z'");
}

}  // namespace
}  // namespace amp::onednn
