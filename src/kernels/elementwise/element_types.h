// The C++ types of elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace amp::kernels {

enum class ElementType : std::uint8_t;  // see cast.h

// What C++20 has no type for, as it lies in memory.
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t byte;
};

// In the order of ElementType.
using ElementTypes = std::tuple<float, double, Half, BFloat16, std::uint8_t, std::int8_t, std::int16_t, std::uint16_t,
                                std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, Bool>;

// Calls f with a zero of the type; false where it is none of kTypes.
template <ElementType... kTypes, class F>
bool WithTypeAmong(ElementType type, const F& f) {
  return ((type == kTypes && (f(std::tuple_element_t<static_cast<std::size_t>(kTypes), ElementTypes>{}), true)) || ...);
}

}  // namespace amp::kernels
