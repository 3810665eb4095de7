// Divisions as MXNet and Python define them, and shifts that are defined for all operands.
#pragma once

#include <cmath>
#include <cstdint>

namespace amp {

// The remainder with the sign of b; 0 where b is 0.
inline double Remainder(double a, double b) {
  if (b == 0) return 0;
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

inline std::int64_t Remainder(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;  // INT64_MIN % -1 would overflow
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// The remainder with the sign of a; 0 where b is 0.
inline double TruncatedRemainder(double a, double b) { return b == 0 ? 0 : std::fmod(a, b); }
inline std::int64_t TruncatedRemainder(std::int64_t a, std::int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

// The floor of a / b; of integers it is 0 where b is 0, and wraps.
inline double FloorQuotient(double a, double b) { return std::floor(a / b); }
inline std::int64_t FloorQuotient(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
  return a / b - (Remainder(a, b) != a % b ? 1 : 0);
}

// 0 for places that there are not; the right one keeps the sign.
inline std::int64_t LeftShift(std::int64_t a, std::int64_t places) {
  return places < 0 || places > 63 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << places);
}
inline std::int64_t RightShift(std::int64_t a, std::int64_t places) {
  if (places < 0) return 0;
  return a >> (places > 63 ? 63 : places);
}

}  // namespace amp
