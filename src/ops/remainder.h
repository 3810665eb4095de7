// The remainder of a division as MXNet and Python define it.
#pragma once

#include <cmath>
#include <cstdint>

namespace amp {

// With the sign of b; 0 where b is 0.
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

}  // namespace amp
