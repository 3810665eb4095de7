// Conversion of arrays between element types.
#pragma once

#include <cstddef>
#include <cstdint>

namespace amp::kernels {

// The values index tables in cast.cc; keep them dense and in this order.
enum class ElementType : std::uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kUInt8,
  kInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kBool,  // one byte; zero is false, any other value is true; written as 0 or 1
};

inline constexpr std::size_t kElementTypeCount = 13;

// Bytes of one element.
std::size_t ElementBytes(ElementType type);

// Converts `count` elements. Neither pointer needs any alignment; the two ranges must not overlap;
// both pointers may be null if `count` is 0.
//
//  to a float:       rounds once, to nearest even, from the exact source value; too large becomes
//                    infinite. Denormals are kept. A NaN keeps its sign and top payload bits and
//                    becomes quiet, except where bits only move (equal types, bfloat16 -> float32).
//  float -> integer: truncates toward zero, then modulo 2^bits, as NumPy and MXNet on x86: what int32 (for uint32 and
//                    64 bits: int64) cannot hold is its lowest number first. uint64 has its whole range. NaN gives 0.
//  integer -> integer: modulo 2^bits, as C++ does.
//  to bool:          x != 0, hence true for NaN and for every denormal.
//
// Conversions to and from float16, from bfloat16 to float32, and from float32 or float64 to bfloat16 or bool do not
// depend on the thread's flush-to-zero and denormals-are-zero modes. Those between float32 and float64, and from
// bfloat16 to float64, do: with these modes on, denormals become zero there.
//
// Large arrays are split into blocks among the threads of the scope (ParallelFor). The result does
// not depend on their number, nor on the instruction set in use.
void Cast(ElementType from, const void* src, ElementType to, void* dst, std::size_t count);

// Casts to float16, but finite numbers that are too large become the largest ones, 65504 and -65504.
void CastToFiniteHalf(ElementType from, const void* src, void* dst, std::size_t count);

}  // namespace amp::kernels
