#include "ops/random/fill_drawn.h"

#include <algorithm>
#include <array>

#include "kernels/base/elements.h"
#include "kernels/threads/parallel.h"
#include "program/kernel_types.h"

namespace amp {
namespace {

constexpr std::int64_t kTogether = 1024;  // elements that one thread draws before it asks for others

// The neighbour below, of the bits of a float number.
template <class Bits>
Bits Below(Bits bits) {
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  if (bits == 0) return kSign | 1;
  return static_cast<Bits>((bits & kSign) != 0 ? bits + 1 : bits - 1);
}

void StoreRoundedDown(const double* values, std::size_t count, DType dtype, std::byte* out) {
  std::array<double, kTogether> rounded;
  kernels::Cast(KernelType(DType::kFloat64), values, KernelType(dtype), out, count);
  kernels::Cast(KernelType(dtype), out, KernelType(DType::kFloat64), rounded.data(), count);
  kernels::WithElementOf(static_cast<std::size_t>(BytesOf(dtype)), [&](auto zero) {
    auto* bits = reinterpret_cast<decltype(zero)*>(out);
    for (std::size_t i = 0; i < count; ++i) {
      if (rounded[i] > values[i]) bits[i] = Below(bits[i]);
    }
  });
}

}  // namespace

void FillSampled(const Distribution& distribution, const kernels::RandomStream& stream, std::span<const double> first,
                 std::span<const double> second, const TensorType& type, void* out) {
  const std::int64_t size = type.shape.size();
  if (size == 0) return;
  const std::int64_t first_repeats = size / std::ssize(first), second_repeats = size / std::ssize(second);
  kernels::ParallelFor((size + kTogether - 1) / kTogether, 1, [&](std::int64_t part) {
    const std::int64_t begin = part * kTogether;
    const auto count = static_cast<std::size_t>(std::min(kTogether, size - begin));
    std::array<double, kTogether> values;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t element = begin + static_cast<std::int64_t>(i);
      Draws draws(stream, element);
      values[i] = distribution.draw(draws, first[static_cast<std::size_t>(element / first_repeats)],
                                    second[static_cast<std::size_t>(element / second_repeats)]);
    }
    std::byte* place = static_cast<std::byte*>(out) + begin * BytesOf(type.dtype);
    if (distribution.is_below_second) return StoreRoundedDown(values.data(), count, type.dtype, place);
    kernels::Cast(KernelType(DType::kFloat64), values.data(), KernelType(type.dtype), place, count);
  });
}

}  // namespace amp
