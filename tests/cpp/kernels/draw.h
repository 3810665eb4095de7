// Seeded random sizes and numbers.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace amp::kernels::testing {

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  std::int64_t Int(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(engine_) < p; }
  float Real() { return std::normal_distribution<float>(0, 1)(engine_); }
  std::vector<float> Reals(std::int64_t count, double scale) {
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& x : numbers) x = static_cast<float>(scale) * Real();
    return numbers;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace amp::kernels::testing
