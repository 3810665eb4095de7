#include "kernels/elementwise/cast.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/base/float_bits.h"
#include "kernels/elementwise/cast_table.h"
#include "kernels/elementwise/element_types.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

static_assert(std::tuple_size_v<ElementTypes> == kElementTypeCount);
static_assert(static_cast<std::size_t>(ElementType::kBool) + 1 == kElementTypeCount);

// A cast is Store<To>(Load(element)); the value in between is exact.
template <typename T>
T Load(T element) {
  return element;
}
float Load(Half element) { return HalfToFloat(element.bits); }
float Load(BFloat16 element) { return BF16ToFloat(element.bits); }
std::uint8_t Load(Bool element) { return element.byte != 0; }

std::uint16_t ToBF16(float value) { return FloatToBF16(value); }
std::uint16_t ToBF16(double value) { return DoubleToBF16(value); }
std::uint16_t ToHalf(float value) { return FloatToHalf(value); }
std::uint16_t ToHalf(double value) { return DoubleToHalf(value); }

// Small integers are exact in float32, which is the faster way.
template <std::integral T>
std::uint16_t ToBF16(T value) {
  if constexpr (sizeof(T) <= 2) return FloatToBF16(static_cast<float>(value));
  return IntegerToBF16(value);
}

// Rounds once for large integers too: those that float32 cannot hold are infinite in float16.
template <std::integral T>
std::uint16_t ToHalf(T value) {
  return FloatToHalf(static_cast<float>(value));
}

// Looks at the bits: a comparison would call a denormal zero where denormals-are-zero is on.
bool IsNonZero(float value) { return std::bit_cast<std::uint32_t>(value) << 1 != 0; }
bool IsNonZero(double value) { return std::bit_cast<std::uint64_t>(value) << 1 != 0; }
template <std::integral T>
bool IsNonZero(T value) {
  return value != 0;
}

// The integers that a float is truncated to first: those of x86's instructions, which NumPy and MXNet use.
template <std::integral To>
using Truncated = std::conditional_t<sizeof(To) < 4 || std::is_same_v<To, std::int32_t>, std::int32_t, std::int64_t>;

template <std::integral To, std::floating_point From>
To Truncate(From value) {
  using Wide = Truncated<To>;
  constexpr Wide kLowest = std::numeric_limits<Wide>::min();
  constexpr From kEnd = -static_cast<From>(kLowest);  // 2^31 or 2^63: the first that is too large
  if constexpr (std::is_same_v<To, std::uint64_t>) {
    if (value >= kEnd && value < 2 * kEnd) return static_cast<To>(value);
  }
  if (value > -kEnd && value < kEnd) return static_cast<To>(static_cast<Wide>(value));
  return value != value ? To{0} : static_cast<To>(kLowest);
}

template <typename To, typename From>
To Store(From value) {
  if constexpr (std::is_same_v<To, Bool>) {
    return Bool{static_cast<std::uint8_t>(IsNonZero(value))};
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16{ToBF16(value)};
  } else if constexpr (std::is_same_v<To, Half>) {
    return Half{ToHalf(value)};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return Truncate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

using CastFunction = void (*)(const void* src, void* dst, std::size_t count);

// memcpy because the pointers need no alignment; it compiles to one load or store.
template <typename From, typename To>
void CastLoop(const void* src, void* dst, std::size_t count) {
  const auto* in = static_cast<const unsigned char*>(src);
  auto* out = static_cast<unsigned char*>(dst);
  for (std::size_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, in + i * sizeof(From), sizeof(From));
    const To result = Store<To>(Load(element));
    std::memcpy(out + i * sizeof(To), &result, sizeof(To));
  }
}

template <typename T>
void CopyElements(const void* src, void* dst, std::size_t count) {
  std::memcpy(dst, src, count * sizeof(T));
}

template <typename From, typename To>
constexpr CastFunction Choose() {
  // Bool to bool is a cast, not a copy: it makes every true value a 1.
  if constexpr (std::is_same_v<From, To> && !std::is_same_v<From, Bool>) return CopyElements<From>;
  return CastLoop<From, To>;
}

using CastRow = std::array<CastFunction, kElementTypeCount>;

template <typename From, std::size_t... kTo>
constexpr CastRow MakeRow(std::index_sequence<kTo...>) {
  return {Choose<From, std::tuple_element_t<kTo, ElementTypes>>()...};
}

template <std::size_t... kFrom>
constexpr std::array<CastRow, kElementTypeCount> MakeRows(std::index_sequence<kFrom...> indices) {
  return {MakeRow<std::tuple_element_t<kFrom, ElementTypes>>(indices)...};
}

template <std::size_t... kIndex>
constexpr std::array<std::size_t, kElementTypeCount> MakeSizes(std::index_sequence<kIndex...>) {
  return {sizeof(std::tuple_element_t<kIndex, ElementTypes>)...};
}

constexpr auto kCasts = MakeRows(std::make_index_sequence<kElementTypeCount>());
constexpr auto kSizes = MakeSizes(std::make_index_sequence<kElementTypeCount>());

std::size_t Index(ElementType type) {
  const auto index = static_cast<std::size_t>(type);
  assert(index < kElementTypeCount);
  return index;
}

CastFunction Select(ElementType from, ElementType to) {
  const CastTable& table = BestTable<CastTable>();
  if (from == ElementType::kFloat32 && to == ElementType::kBFloat16) return table.float_to_bf16;
  if (from == ElementType::kBFloat16 && to == ElementType::kFloat32) return table.bf16_to_float;
  if (from == ElementType::kFloat32 && to == ElementType::kFloat16) return table.float_to_half;
  if (from == ElementType::kFloat16 && to == ElementType::kFloat32) return table.half_to_float;
  return kCasts[Index(from)][Index(to)];
}

constexpr CastTable kGeneric = {.isa = Isa::kGeneric,
                                .float_to_bf16 = CastLoop<float, BFloat16>,
                                .bf16_to_float = CastLoop<BFloat16, float>,
                                .float_to_half = CastLoop<float, Half>,
                                .half_to_float = CastLoop<Half, float>};

// In elements. A block is long enough to hide a call and short enough to share the work evenly;
// waking the other threads pays off from a few blocks on.
constexpr std::size_t kBlock = std::size_t{1} << 14;
constexpr std::size_t kParallelFrom = std::size_t{1} << 16;

}  // namespace

const CastTable* CastTable::Generic() { return &kGeneric; }

std::size_t ElementBytes(ElementType type) { return kSizes[Index(type)]; }

void Cast(ElementType from, const void* src, ElementType to, void* dst, std::size_t count) {
  if (count == 0) return;
  const CastFunction cast = Select(from, to);
  if (count < kParallelFrom) return cast(src, dst, count);

  const auto* in = static_cast<const unsigned char*>(src);
  auto* out = static_cast<unsigned char*>(dst);
  const std::size_t in_bytes = ElementBytes(from);
  const std::size_t out_bytes = ElementBytes(to);
  const auto blocks = static_cast<std::ptrdiff_t>((count + kBlock - 1) / kBlock);
  ParallelFor(blocks, kParallelFrom / kBlock, [&](std::int64_t block) {
    const std::size_t begin = static_cast<std::size_t>(block) * kBlock;
    cast(in + begin * in_bytes, out + begin * out_bytes, std::min(kBlock, count - begin));
  });
}

void CastToFiniteHalf(ElementType from, const void* src, void* dst, std::size_t count) {
  constexpr std::uint16_t kInfinity = 0x7C00, kSign = 0x8000;
  Cast(from, src, ElementType::kFloat16, dst, count);
  const auto* in = static_cast<const unsigned char*>(src);
  auto* out = static_cast<unsigned char*>(dst);
  const std::size_t in_bytes = ElementBytes(from);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, out + 2 * i, sizeof bits);
    if ((bits & ~kSign) != kInfinity) continue;
    double number = 0;
    Cast(from, in + i * in_bytes, ElementType::kFloat64, &number, 1);
    if (!std::isfinite(number)) continue;
    --bits;  // the largest number, of the same sign
    std::memcpy(out + 2 * i, &bits, sizeof bits);
  }
}

}  // namespace amp::kernels
