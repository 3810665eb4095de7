// Seeded choices for randomised tests. The same seed gives the same case on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "nnvm/dtype.h"
#include "nnvm/shape.h"

namespace amp::testing {

class Random {
 public:
  // `pinned`: what Type() answers wherever it may.
  explicit Random(std::uint64_t seed, std::optional<DType> pinned = std::nullopt) : state_(seed), pinned_(pinned) {}

  std::uint64_t Bits() {  // splitmix64
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // In [low, high].
  std::int64_t Int(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(Bits() % static_cast<std::uint64_t>(high - low + 1));
  }
  // In [low, high).
  double Real(double low, double high) { return low + (high - low) * static_cast<double>(Bits() >> 11) * 0x1p-53; }
  bool Chance(double probability) { return Real(0, 1) < probability; }

  template <class T>
  T Of(std::initializer_list<T> choices) {
    return choices.begin()[Int(0, static_cast<std::int64_t>(choices.size()) - 1)];
  }
  template <class T>
  const T& Of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(Int(0, static_cast<std::int64_t>(choices.size()) - 1))];
  }

  DType Type(const std::vector<DType>& choices) {
    if (!pinned_) return Of(choices);
    for (const DType choice : choices) {
      if (choice == *pinned_) return choice;
    }
    return Of(choices);
  }

  // A size of an axis; now and then 0.
  std::int64_t Size(std::int64_t high) { return Chance(0.03) ? 0 : Int(1, high); }
  Shape Sizes(int rank, std::int64_t high) {
    std::vector<std::int64_t> dims;
    for (int i = 0; i < rank; ++i) dims.push_back(Size(high));
    return Shape(std::move(dims));
  }

 private:
  std::uint64_t state_;
  std::optional<DType> pinned_;
};

}  // namespace amp::testing
