#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/cpu.h"
#include "kernels/base/float_bits.h"
#include "kernels/elementwise/cast.h"
#include "kernels/elementwise/cast_table.h"
#include "samples.h"
#include "tables_that_run.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace amp::kernels {
namespace {

// Sets flush-to-zero and denormals-are-zero while it lives.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040u); }
  ~FlushDenormals() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif
};

std::vector<float> FromBits(const std::vector<uint32_t>& bits) {
  std::vector<float> values(bits.size());
  std::memcpy(values.data(), bits.data(), bits.size() * sizeof(uint32_t));
  return values;
}

// An odd stride of about 2^10 visits every exponent and spreads over the low bits.
std::vector<uint32_t> StridedBits() {
  std::vector<uint32_t> bits(std::size_t{1} << 22);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint32_t>(i * 1025);
  return bits;
}

std::vector<uint16_t> AllCodes() {
  std::vector<uint16_t> codes(1 << 16);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  return codes;
}

class CastTables : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    table_ = testing::TableFor<CastTable>(GetParam());
    if (table_ == nullptr) GTEST_SKIP() << "this CPU or build lacks " << IsaName(GetParam());
  }

  void ExpectNarrowingEqualsScalar(const std::vector<uint32_t>& bits) {
    const std::vector<float> values = FromBits(bits);
    std::vector<uint16_t> bf16(bits.size());
    std::vector<uint16_t> half(bits.size());
    table_->float_to_bf16(values.data(), bf16.data(), bits.size());
    table_->float_to_half(values.data(), half.data(), bits.size());
    for (std::size_t i = 0; i < bits.size(); ++i) {
      ASSERT_EQ(bf16[i], FloatToBF16(std::bit_cast<float>(bits[i]))) << std::hex << bits[i];
      ASSERT_EQ(half[i], FloatToHalf(std::bit_cast<float>(bits[i]))) << std::hex << bits[i];
    }
  }

  void ExpectWideningEqualsScalar() {
    const std::vector<uint16_t> codes = AllCodes();
    std::vector<uint32_t> from_bf16(codes.size());
    std::vector<uint32_t> from_half(codes.size());
    table_->bf16_to_float(codes.data(), from_bf16.data(), codes.size());
    table_->half_to_float(codes.data(), from_half.data(), codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      ASSERT_EQ(from_bf16[i], std::bit_cast<uint32_t>(BF16ToFloat(codes[i]))) << std::hex << codes[i];
      ASSERT_EQ(from_half[i], std::bit_cast<uint32_t>(HalfToFloat(codes[i]))) << std::hex << codes[i];
    }
  }

  const CastTable* table_ = nullptr;
};

TEST_P(CastTables, NamesItself) { EXPECT_EQ(table_->isa, GetParam()); }

TEST_P(CastTables, NarrowsCornersLikeTheScalarCode) { ExpectNarrowingEqualsScalar(testing::CornerFloatBits()); }

TEST_P(CastTables, NarrowsStridedSamplesLikeTheScalarCode) { ExpectNarrowingEqualsScalar(StridedBits()); }

TEST_P(CastTables, WidensLikeTheScalarCode) { ExpectWideningEqualsScalar(); }

TEST_P(CastTables, IgnoresFlushToZero) {
  const std::vector<uint32_t> bits = testing::CornerFloatBits();
  const std::vector<float> values = FromBits(bits);
  const std::vector<uint16_t> codes = AllCodes();
  const auto convert = [&] {
    std::vector<uint16_t> narrow(2 * bits.size());
    table_->float_to_bf16(values.data(), narrow.data(), bits.size());
    table_->float_to_half(values.data(), narrow.data() + bits.size(), bits.size());
    std::vector<uint32_t> wide(2 * codes.size());
    table_->bf16_to_float(codes.data(), wide.data(), codes.size());
    table_->half_to_float(codes.data(), wide.data() + codes.size(), codes.size());
    return std::make_pair(narrow, wide);
  };
  const auto expected = convert();
  const FlushDenormals flush;
  EXPECT_TRUE(convert() == expected);
}

TEST_P(CastTables, HandlesEveryShortLengthUnaligned) {
  const std::vector<uint32_t> corners = testing::CornerFloatBits();
  for (std::size_t count = 0; count <= 130; ++count) {
    std::vector<unsigned char> source(count * 4 + 1);
    if (count != 0) std::memcpy(source.data() + 1, corners.data() + corners.size() / 2, count * 4);
    std::vector<unsigned char> target(count * 2 + 2, 0xA5);
    table_->float_to_bf16(source.data() + 1, target.data() + 1, count);
    std::vector<unsigned char> widened(count * 4 + 2, 0xA5);
    table_->bf16_to_float(target.data() + 1, widened.data() + 1, count);
    for (std::size_t i = 0; i < count; ++i) {
      const uint16_t code = FloatToBF16(std::bit_cast<float>(corners[corners.size() / 2 + i]));
      uint16_t actual = 0;
      std::memcpy(&actual, target.data() + 1 + 2 * i, 2);
      ASSERT_EQ(actual, code) << i << " of " << count;
      uint32_t wide = 0;
      std::memcpy(&wide, widened.data() + 1 + 4 * i, 4);
      ASSERT_EQ(wide, static_cast<uint32_t>(code) << 16) << i << " of " << count;
    }
    EXPECT_EQ(target.front(), 0xA5);
    EXPECT_EQ(target.back(), 0xA5);
    EXPECT_EQ(widened.front(), 0xA5);
    EXPECT_EQ(widened.back(), 0xA5);
  }
}

INSTANTIATE_TEST_SUITE_P(AllIsas, CastTables, ::testing::Values(Isa::kGeneric, Isa::kAvx2, Isa::kAvx512),
                         [](const auto& instance) { return std::string(IsaName(instance.param)); });

TEST(Cpu, NamesRoundTrip) {
  for (Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512}) EXPECT_EQ(ParseIsa(IsaName(isa)), isa);
  EXPECT_EQ(ParseIsa("sse9"), std::nullopt);
  EXPECT_EQ(ParseIsa(""), std::nullopt);
}

TEST(Cpu, AlwaysHasGenericCode) {
  ASSERT_NE(testing::TableFor<CastTable>(Isa::kGeneric), nullptr);
  EXPECT_LE(AllowedIsa(), CpuIsa());
}

TEST(Cpu, NativeBF16ImpliesAvx512) {
  if (CpuHasBF16()) {
    EXPECT_EQ(CpuIsa(), Isa::kAvx512);
  }
}

// Beyond the tables: of all pairs only those that cast.h names heed the mode.
TEST(CastModes, OnlyTheDocumentedPairsHeedFlushToZero) {
  const auto heeds_the_mode = [](ElementType from, ElementType to) {
    return (from == ElementType::kFloat32 && to == ElementType::kFloat64) ||
           (from == ElementType::kFloat64 && to == ElementType::kFloat32) ||
           (from == ElementType::kBFloat16 && to == ElementType::kFloat64);
  };
  const std::vector<uint64_t> bits = testing::CornerDoubleBits();
  for (std::size_t pair = 0; pair < kElementTypeCount * kElementTypeCount; ++pair) {
    const auto from = static_cast<ElementType>(pair / kElementTypeCount);
    const auto to = static_cast<ElementType>(pair % kElementTypeCount);
    if (heeds_the_mode(from, to)) continue;
    const std::size_t count = std::min<std::size_t>(bits.size() * 8 / ElementBytes(from), 60000);
    std::vector<unsigned char> expected(count * ElementBytes(to));
    std::vector<unsigned char> actual(expected.size());
    Cast(from, bits.data(), to, expected.data(), count);
    {
      const FlushDenormals flush;
      Cast(from, bits.data(), to, actual.data(), count);
    }
    EXPECT_TRUE(actual == expected) << "pair " << pair;
  }
}

// The choice is made once per process, hence each of these asks a fresh one.
class MaxIsaDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void PrintIsaAndExit(const char* limit) {
    setenv("AMP_MAX_ISA", limit, 1);
    std::fprintf(stderr, "[%s]", IsaName(BestTable<CastTable>().isa));
    std::exit(0);
  }
};

TEST_F(MaxIsaDeathTest, CapsTheInstructionSet) {
  for (Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512}) {
    if (testing::TableFor<CastTable>(isa) == nullptr) continue;
    const std::string expected = std::string("\\[") + IsaName(isa) + "\\]";
    EXPECT_EXIT(PrintIsaAndExit(IsaName(isa)), ::testing::ExitedWithCode(0), expected);
  }
}

TEST_F(MaxIsaDeathTest, LeavesTilesAlone) {
  EXPECT_EXIT(
      {
        setenv("AMP_MAX_ISA", "avx512", 1);
        std::fprintf(stderr, "[%d]", AllowsTiles());
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "\\[0\\]");
}

TEST_F(MaxIsaDeathTest, ReportsAnUnknownValue) {
  EXPECT_EXIT(PrintIsaAndExit("sse9"), ::testing::ExitedWithCode(0), "AMP_MAX_ISA: .*sse9");
}

}  // namespace
}  // namespace amp::kernels
