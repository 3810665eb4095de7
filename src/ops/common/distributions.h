// Numbers of distributions, drawn from streams of random bits.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/elementwise/random.h"

namespace amp {

// The random numbers of one element of an array: others than those of any other element, however many are drawn.
class Draws {
 public:
  Draws(const kernels::RandomStream& stream, std::int64_t element)
      : stream_(stream), next_(static_cast<std::uint64_t>(element)) {}

  std::uint64_t Bits();
  // From [0, 1).
  double Fraction() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }
  // From (0, 1).
  double InnerFraction() { return (static_cast<double>(Bits() >> 12) + 0.5) * 0x1p-52; }
  // Normally distributed, of mean 0 and deviation 1.
  double Normal();

 private:
  const kernels::RandomStream& stream_;
  std::uint64_t next_;  // block of the stream
  std::array<std::uint32_t, 4> block_{};
  std::size_t left_ = 0;  // numbers of the block that were not drawn
};

struct Distribution {
  std::string name;
  int num_parameters;
  // Results are below the second parameter, unless it is the first one.
  bool is_below_second;
  // Ends for all parameters. Those that make no distribution give some number, infinity or NaN.
  double (*draw)(Draws& draws, double first, double second);
  // Results are 0 or 1, which every dtype holds.
  bool is_indicator = false;
};

const std::vector<Distribution>& Distributions();
std::vector<std::string> DistributionNames();
// Throws InternalError for a name that is none.
const Distribution& RequireDistribution(const std::string& name);

// From [low, high), where low is below high.
std::int64_t DrawInteger(Draws& draws, std::int64_t low, std::int64_t high);

}  // namespace amp
