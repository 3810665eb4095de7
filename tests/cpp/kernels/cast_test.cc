#include "kernels/elementwise/cast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/threads/parallel.h"
#include "narrow_oracle.h"
#include "samples.h"

namespace amp::kernels {
namespace {

using testing::BF16Oracle;
using testing::Exact;
using testing::HalfOracle;
using testing::NarrowOracle;

using Bytes = std::vector<unsigned char>;

constexpr const char* kNames[] = {"Float32", "Float64", "Float16", "BFloat16", "UInt8",  "Int8", "Int16",
                                  "UInt16",  "Int32",   "UInt32",  "Int64",    "UInt64", "Bool"};
constexpr std::size_t kBytes[] = {4, 8, 2, 2, 1, 1, 2, 2, 4, 4, 8, 8, 1};

std::vector<ElementType> AllTypes() {
  std::vector<ElementType> types;
  for (std::size_t i = 0; i < kElementTypeCount; ++i) types.push_back(static_cast<ElementType>(i));
  return types;
}

std::string TypeName(ElementType type) { return kNames[static_cast<std::size_t>(type)]; }

template <typename T>
T ReadAs(const unsigned char* element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return value;
}

// What an element means, whatever its type.
struct Meaning {
  bool is_nan = false;
  bool negative = false;  // the sign of a NaN
  uint64_t payload = 0;   // the mantissa of a NaN, left-aligned
  Exact value = 0;
};

template <typename Float, typename Bits>
Meaning ReadFloat(const unsigned char* element, int mantissa_bits) {
  const Bits bits = ReadAs<Bits>(element);
  const auto value = std::bit_cast<Float>(bits);
  if (!std::isnan(value)) return {.value = value};
  return {.is_nan = true,
          .negative = bits >> (sizeof(Bits) * 8 - 1) != 0,
          .payload = static_cast<uint64_t>(bits) << (64 - mantissa_bits)};
}

Meaning ReadNarrow(const unsigned char* element, const NarrowOracle& oracle, int mantissa_bits) {
  const auto code = ReadAs<uint16_t>(element);
  if (!oracle.IsNaN(code)) return {.value = oracle.Decode(code)};
  return {.is_nan = true, .negative = code >> 15 != 0, .payload = static_cast<uint64_t>(code) << (64 - mantissa_bits)};
}

template <typename T>
Meaning ReadInteger(const unsigned char* element) {
  return {.value = static_cast<Exact>(ReadAs<T>(element))};
}

Meaning Read(ElementType type, const unsigned char* element) {
  switch (type) {
    case ElementType::kFloat32:
      return ReadFloat<float, uint32_t>(element, 23);
    case ElementType::kFloat64:
      return ReadFloat<double, uint64_t>(element, 52);
    case ElementType::kFloat16:
      return ReadNarrow(element, HalfOracle(), 10);
    case ElementType::kBFloat16:
      return ReadNarrow(element, BF16Oracle(), 7);
    case ElementType::kUInt8:
      return ReadInteger<uint8_t>(element);
    case ElementType::kInt8:
      return ReadInteger<int8_t>(element);
    case ElementType::kInt16:
      return ReadInteger<int16_t>(element);
    case ElementType::kUInt16:
      return ReadInteger<uint16_t>(element);
    case ElementType::kInt32:
      return ReadInteger<int32_t>(element);
    case ElementType::kUInt32:
      return ReadInteger<uint32_t>(element);
    case ElementType::kInt64:
      return ReadInteger<int64_t>(element);
    case ElementType::kUInt64:
      return ReadInteger<uint64_t>(element);
    case ElementType::kBool:
      return {.value = *element == 0 ? Exact{0} : Exact{1}};
  }
  return {};
}

bool IsFloat(ElementType type) { return type <= ElementType::kBFloat16; }

// The expected element as an integer of the target's width. Going from Exact to float32 or float64
// is one rounding.
template <typename Float, typename Bits>
uint64_t ExpectedFloat(const Meaning& source, int mantissa_bits, bool moves_bits) {
  if (!source.is_nan) return std::bit_cast<Bits>(static_cast<Float>(source.value));
  const Bits infinity = std::bit_cast<Bits>(std::numeric_limits<Float>::infinity());
  const Bits sign = static_cast<Bits>(source.negative) << (sizeof(Bits) * 8 - 1);
  const uint64_t payload = moves_bits ? source.payload : source.payload | uint64_t{1} << 63;
  return sign | infinity | static_cast<Bits>(payload >> (64 - mantissa_bits));
}

uint64_t ExpectedNarrow(const Meaning& source, const NarrowOracle& oracle) {
  return source.is_nan ? oracle.EncodeNaN(source.negative, source.payload) : oracle.Encode(source.value);
}

// Floats are truncated to signed integers of 32 or 64 bits, the lowest of which stands for what these cannot hold; the
// result has their lowest bits. uint64 has its whole range.
template <typename T>
uint64_t ExpectedInteger(const Meaning& source, bool from_float) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto modulo = [](Exact value) {
    const auto magnitude = static_cast<uint64_t>(std::fabs(value));
    return static_cast<Unsigned>(value < 0 ? uint64_t{0} - magnitude : magnitude);
  };
  if (source.is_nan) return 0;
  if (!from_float) return modulo(source.value);
  const Exact truncated = std::trunc(source.value);
  if (std::is_same_v<T, uint64_t> && truncated >= 0 && truncated < 0x1p64L) return static_cast<uint64_t>(truncated);
  const int bits = sizeof(T) < 4 || std::is_same_v<T, int32_t> ? 31 : 63;
  const Exact end = std::ldexp(Exact{1}, bits);
  if (!(truncated >= -end && truncated < end)) return static_cast<Unsigned>(uint64_t{1} << bits);
  return modulo(truncated);
}

uint64_t ExpectedBits(ElementType from, const unsigned char* element, ElementType to) {
  const Meaning source = Read(from, element);
  const bool from_float = IsFloat(from);
  switch (to) {
    case ElementType::kFloat32:
      return ExpectedFloat<float, uint32_t>(source, 23, from == ElementType::kBFloat16);
    case ElementType::kFloat64:
      return ExpectedFloat<double, uint64_t>(source, 52, false);
    case ElementType::kFloat16:
      return ExpectedNarrow(source, HalfOracle());
    case ElementType::kBFloat16:
      return ExpectedNarrow(source, BF16Oracle());
    case ElementType::kUInt8:
      return ExpectedInteger<uint8_t>(source, from_float);
    case ElementType::kInt8:
      return ExpectedInteger<int8_t>(source, from_float);
    case ElementType::kInt16:
      return ExpectedInteger<int16_t>(source, from_float);
    case ElementType::kUInt16:
      return ExpectedInteger<uint16_t>(source, from_float);
    case ElementType::kInt32:
      return ExpectedInteger<int32_t>(source, from_float);
    case ElementType::kUInt32:
      return ExpectedInteger<uint32_t>(source, from_float);
    case ElementType::kInt64:
      return ExpectedInteger<int64_t>(source, from_float);
    case ElementType::kUInt64:
      return ExpectedInteger<uint64_t>(source, from_float);
    case ElementType::kBool:
      return source.is_nan || source.value != 0;
  }
  return 0;
}

template <typename T>
void Append(Bytes& bytes, T value) {
  const auto* begin = reinterpret_cast<const unsigned char*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(T));
}

// Floats next to the limits of the integer types, where saturation begins, and with fractions to
// truncate.
std::vector<double> NearIntegerLimits() {
  std::vector<double> values;
  for (int exponent : {0, 1, 7, 8, 15, 16, 31, 32, 63, 64}) {
    for (double sign : {1.0, -1.0}) {
      const double power = sign * std::ldexp(1.0, exponent);
      for (double offset : {-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5}) values.push_back(power + offset);
      values.push_back(std::nextafter(power, 0.0));
      values.push_back(std::nextafter(power, 2 * power));
      values.push_back(static_cast<double>(std::nextafter(static_cast<float>(power), 0.0f)));
      values.push_back(static_cast<double>(std::nextafter(static_cast<float>(power), static_cast<float>(2 * power))));
    }
  }
  return values;
}

Bytes FloatElements() {
  Bytes bytes;
  for (uint32_t bits : testing::CornerFloatBits()) Append(bytes, bits);
  for (double value : NearIntegerLimits()) Append(bytes, static_cast<float>(value));
  for (uint64_t bits : testing::RandomBits(1 << 14, 4)) Append(bytes, static_cast<uint32_t>(bits));
  return bytes;
}

Bytes DoubleElements() {
  Bytes bytes;
  for (uint64_t bits : testing::CornerDoubleBits()) Append(bytes, bits);
  for (double value : NearIntegerLimits()) Append(bytes, value);
  for (uint64_t bits : testing::RandomBits(1 << 14, 5)) Append(bytes, bits);
  return bytes;
}

// All 65536 codes: complete for every type of two bytes, and each byte occurs for those of one.
Bytes TwoByteElements() {
  Bytes bytes;
  for (uint32_t code = 0; code <= 0xFFFF; ++code) Append(bytes, static_cast<uint16_t>(code));
  return bytes;
}

Bytes IntegerElements(std::size_t element_bytes) {
  Bytes bytes;
  std::vector<uint64_t> samples = testing::CornerIntegerBits();
  for (uint64_t bits : testing::RandomBits(1 << 14, 6)) samples.push_back(bits);
  for (uint64_t bits : samples) {
    if (element_bytes == 8) Append(bytes, bits);
    if (element_bytes == 4) Append(bytes, static_cast<uint32_t>(bits));
  }
  return bytes;
}

Bytes ElementsOf(ElementType type) {
  if (type == ElementType::kFloat32) return FloatElements();
  if (type == ElementType::kFloat64) return DoubleElements();
  const std::size_t element_bytes = kBytes[static_cast<std::size_t>(type)];
  return element_bytes <= 2 ? TwoByteElements() : IntegerElements(element_bytes);
}

uint64_t ReadBits(const unsigned char* element, std::size_t bytes) {
  uint64_t bits = 0;
  for (std::size_t i = 0; i < bytes; ++i) bits |= static_cast<uint64_t>(element[i]) << (8 * i);
  return bits;
}

Bytes CastToBytes(ElementType from, const Bytes& elements, ElementType to) {
  const std::size_t count = elements.size() / ElementBytes(from);
  Bytes result(count * ElementBytes(to));
  Cast(from, elements.data(), to, result.data(), count);
  return result;
}

class CastPair : public ::testing::TestWithParam<std::tuple<ElementType, ElementType>> {};

TEST_P(CastPair, MatchesTheDefinition) {
  const auto [from, to] = GetParam();
  const Bytes elements = ElementsOf(from);
  const Bytes results = CastToBytes(from, elements, to);
  if (from == to && from != ElementType::kBool) {
    ASSERT_EQ(results, elements);
    return;
  }
  const std::size_t in_bytes = ElementBytes(from);
  const std::size_t out_bytes = ElementBytes(to);
  for (std::size_t i = 0; i < elements.size() / in_bytes; ++i) {
    const unsigned char* element = elements.data() + i * in_bytes;
    ASSERT_EQ(ReadBits(results.data() + i * out_bytes, out_bytes), ExpectedBits(from, element, to))
        << "of source bits " << std::hex << ReadBits(element, in_bytes);
  }
}

// Every short length at odd addresses: nothing beside the destination is written, and (under a
// sanitizer) nothing beside the source is read.
TEST_P(CastPair, HandlesEveryShortLengthUnaligned) {
  const auto [from, to] = GetParam();
  const Bytes all = ElementsOf(from);
  const std::size_t in_bytes = ElementBytes(from);
  const std::size_t out_bytes = ElementBytes(to);
  for (std::size_t count = 0; count <= 130; ++count) {
    const Bytes aligned(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count * in_bytes));
    Bytes source(1, 0);
    source.insert(source.end(), aligned.begin(), aligned.end());
    Bytes target(count * out_bytes + 4, 0xA5);
    Cast(from, source.data() + 1, to, target.data() + 3, count);

    Bytes expected(3, 0xA5);
    const Bytes converted = CastToBytes(from, aligned, to);
    expected.insert(expected.end(), converted.begin(), converted.end());
    expected.push_back(0xA5);
    ASSERT_EQ(target, expected) << count << " elements";
  }
}

// Long enough for several blocks per thread, and not a whole number of blocks.
TEST_P(CastPair, DoesNotDependOnTheNumberOfThreads) {
  const auto [from, to] = GetParam();
  const std::size_t count = (std::size_t{1} << 17) + 77;
  const Bytes elements = ElementsOf(from);
  Bytes source;
  while (source.size() < count * ElementBytes(from)) source.insert(source.end(), elements.begin(), elements.end());
  source.resize(count * ElementBytes(from));

  const auto with_threads = [&](int num_threads) {
    const ThreadScope threads(num_threads);
    return CastToBytes(from, source, to);
  };
  const Bytes expected = with_threads(1);
  for (const int n : {2, 3, 7}) EXPECT_TRUE(with_threads(n) == expected) << n << " threads";
}

INSTANTIATE_TEST_SUITE_P(AllPairs, CastPair,
                         ::testing::Combine(::testing::ValuesIn(AllTypes()), ::testing::ValuesIn(AllTypes())),
                         [](const auto& instance) {
                           return TypeName(std::get<0>(instance.param)) + "To" + TypeName(std::get<1>(instance.param));
                         });

TEST(Cast, KnowsTheSizesOfElements) {
  for (ElementType type : AllTypes()) EXPECT_EQ(ElementBytes(type), kBytes[static_cast<std::size_t>(type)]);
}

TEST(Cast, AcceptsNullForNoElements) {
  Cast(ElementType::kFloat32, nullptr, ElementType::kBFloat16, nullptr, 0);
  Cast(ElementType::kInt8, nullptr, ElementType::kInt8, nullptr, 0);
}

// A block boundary must neither skip nor repeat: a long array equals the same array converted in
// short pieces.
TEST(Cast, LongArraysEqualTheirPieces) {
  const std::size_t count = (std::size_t{1} << 18) + 12345;
  std::vector<float> source(count);
  for (std::size_t i = 0; i < count; ++i) source[i] = static_cast<float>(i) * 1.0009765625f;
  std::vector<uint16_t> whole(count);
  std::vector<uint16_t> pieces(count);
  Cast(ElementType::kFloat32, source.data(), ElementType::kBFloat16, whole.data(), count);
  for (std::size_t begin = 0; begin < count; begin += 1000) {
    Cast(ElementType::kFloat32, source.data() + begin, ElementType::kBFloat16, pieces.data() + begin,
         std::min<std::size_t>(1000, count - begin));
  }
  EXPECT_EQ(whole, pieces);
}

}  // namespace
}  // namespace amp::kernels
