#include "program/compensated_rounding.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/threads/parallel.h"
#include "program/cast_arrays.h"

namespace amp {
namespace {

constexpr std::uint16_t kSignBit = 0x8000;

// The neighbour of a code in a sign-magnitude format, upwards or downwards; zero has none here.
std::uint16_t Neighbour(std::uint16_t code, bool upwards) {
  const bool is_negative = (code & kSignBit) != 0;
  return static_cast<std::uint16_t>(upwards != is_negative ? code + 1 : code - 1);
}

// Another choice for one number.
struct Candidate {
  double closeness;  // to the middle of the two neighbours: 0.5 is in the middle
  std::int64_t index;
  double step;  // from the nearer to the farther neighbour
  bool operator>(const Candidate& other) const {
    return closeness != other.closeness ? closeness > other.closeness : index < other.index;
  }
};

class CompensatedRounding {
 public:
  CompensatedRounding(const NDArray& weight, const FoldedWeight& how)
      : weight_(weight), how_(how), nearest_(CastArray(CastArray(weight, how.target), DType::kFloat32)) {
    const NDArray codes = CastArray(weight, how.target);
    kernels::ParallelFor(codes.size(), 1 << 12, [&](std::int64_t i) {
      std::uint16_t& code = codes.As<std::uint16_t>()[i];
      if ((code & ~kSignBit) != 0) code = Neighbour(code, Error(i) > 0);
    });
    farther_ = CastArray(codes, DType::kFloat32);
  }

  NDArray Run() {
    const Shape& shape = weight_.shape();
    const std::int64_t channels = shape[how_.channel_axis];
    kernels::ParallelFor(channels * how_.groups, 1, [&](std::int64_t c) { RoundChannel(c); });
    return nearest_;
  }

 private:
  double Error(std::int64_t i) const {
    return static_cast<double>(weight_.As<float>()[i]) - static_cast<double>(nearest_.As<float>()[i]);
  }

  // f(index) for the elements of one output channel. Groups divide axis 0 where the channels are on another axis.
  template <class F>
  void ForEachOf(std::int64_t channel, F f) const {
    const Shape& shape = weight_.shape();
    const std::int64_t channels = shape[how_.channel_axis];
    const std::int64_t inner = shape.SizeOf(how_.channel_axis + 1, shape.rank());
    const std::int64_t rows = shape.SizeOf(0, how_.channel_axis) / how_.groups;
    const std::int64_t first_row = channel / channels * rows;
    for (std::int64_t row = first_row; row < first_row + rows; ++row) {
      const std::int64_t first = (row * channels + channel % channels) * inner;
      for (std::int64_t i = first; i < first + inner; ++i) f(i);
    }
  }

  void RoundChannel(std::int64_t channel) {
    double drift = 0;
    std::int64_t count = 0;
    ForEachOf(channel, [&](std::int64_t i) {
      drift += Error(i);
      ++count;
    });
    if (!std::isfinite(drift) || drift == 0 || count < 2) return;
    // The drift is about the square root of the number of elements; what is left after as many steps is too small.
    const auto most = static_cast<std::size_t>(4 * std::sqrt(static_cast<double>(count)) + 16);
    for (const Candidate& best : Closest(CandidatesAgainst(channel, drift), most)) {
      if (std::fabs(best.step) > std::fabs(drift)) continue;
      nearest_.As<float>()[best.index] = farther_.As<float>()[best.index];
      drift -= best.step;
    }
  }

  // The so many closest ones, the closest first.
  static std::vector<Candidate> Closest(std::vector<Candidate> candidates, std::size_t most) {
    if (candidates.size() > most) {
      const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(most);
      std::nth_element(candidates.begin(), end, candidates.end(), std::greater<>());
      candidates.erase(end, candidates.end());
    }
    std::sort(candidates.begin(), candidates.end(), std::greater<>());
    return candidates;
  }

  // Numbers that were rounded in the direction of the drift.
  std::vector<Candidate> CandidatesAgainst(std::int64_t channel, double drift) const {
    std::vector<Candidate> candidates;
    ForEachOf(channel, [&](std::int64_t i) {
      const double error = Error(i);
      const double step = static_cast<double>(farther_.As<float>()[i]) - static_cast<double>(nearest_.As<float>()[i]);
      if (error * drift > 0 && step != 0 && std::isfinite(step)) candidates.push_back({error / step, i, step});
    });
    return candidates;
  }

  const NDArray& weight_;
  const FoldedWeight& how_;
  NDArray nearest_;
  NDArray farther_;
};

}  // namespace

NDArray RoundWithCompensation(const NDArray& weight, const FoldedWeight& how) {
  return CompensatedRounding(weight, how).Run();
}

}  // namespace amp
