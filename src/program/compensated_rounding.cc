#include "program/compensated_rounding.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/threads/parallel.h"
#include "program/cast_arrays.h"
#include "program/kernel_types.h"

namespace amp {
namespace {

constexpr std::uint16_t kSignBit = 0x8000;

// The neighbour of a code in a sign-magnitude format, upwards or downwards; zero has none here. Without branches: which
// way is as good as random.
std::uint16_t Neighbour(std::uint16_t code, bool upwards) {
  const int is_negative = code >> 15, has_one = (code & ~kSignBit) != 0;
  return static_cast<std::uint16_t>(code + has_one * (1 - 2 * (static_cast<int>(upwards) ^ is_negative ^ 1)));
}

// Another choice for one number.
struct Candidate {
  double closeness;  // to the middle of the two neighbours: 0.5 is in the middle
  std::uint32_t index;
  double step;  // from the nearer to the farther neighbour
  bool operator>(const Candidate& other) const {
    return closeness != other.closeness ? closeness > other.closeness : index < other.index;
  }
};

// The weights of one output channel, one behind the other.
class Channel {
 public:
  Channel(std::vector<float> weights, DType target) : target_(target), weights_(std::move(weights)) {
    codes_.resize(weights_.size());
    kernels::Cast(kernels::ElementType::kFloat32, weights_.data(), KernelType(target), codes_.data(), codes_.size());
    nearest_ = Values(codes_);
  }

  const std::vector<std::uint16_t>& codes() const { return codes_; }

  // Rounds some numbers the other way.
  void Compensate() {
    double drift = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) drift += Error(i);
    if (!std::isfinite(drift) || drift == 0 || weights_.size() < 2) return;
    others_.resize(codes_.size());
    for (std::size_t i = 0; i < codes_.size(); ++i) others_[i] = Neighbour(codes_[i], weights_[i] > nearest_[i]);
    farther_ = Values(others_);
    // The drift is about the square root of the number of elements; what is left after as many steps is too small.
    const auto most = static_cast<std::size_t>(4 * std::sqrt(static_cast<double>(weights_.size())) + 16);
    std::vector<Candidate> closest = ClosestAgainst(drift, most);
    // A few of them make up for most of the drift. It never grows, so steps that are too large now stay too large.
    const auto few = closest.begin() + static_cast<std::ptrdiff_t>(std::min(closest.size(), most / 8 + 4));
    if (few != closest.end()) std::nth_element(closest.begin(), few, closest.end(), std::greater<>());
    Take(closest.begin(), few, &drift);
    const auto rest =
        std::remove_if(few, closest.end(), [&](const Candidate& c) { return std::fabs(c.step) > std::fabs(drift); });
    Take(few, rest, &drift);
  }

 private:
  using Place = std::vector<Candidate>::iterator;

  double Error(std::size_t i) const { return static_cast<double>(weights_[i]) - static_cast<double>(nearest_[i]); }

  std::vector<float> Values(const std::vector<std::uint16_t>& codes) const {
    std::vector<float> values(codes.size());
    kernels::Cast(KernelType(target_), codes.data(), kernels::ElementType::kFloat32, values.data(), codes.size());
    return values;
  }

  // The closest first.
  void Take(Place begin, Place end, double* drift) {
    std::sort(begin, end, std::greater<>());
    for (Place best = begin; best != end; ++best) {
      if (std::fabs(best->step) > std::fabs(*drift)) continue;
      codes_[best->index] = others_[best->index];
      *drift -= best->step;
    }
  }

  // The so many closest ones of those that were rounded in the direction of the drift, in any order.
  std::vector<Candidate> ClosestAgainst(double drift, std::size_t most) const {
    // Closeness is spread evenly, as a rule: of all numbers, half of which are against the drift, 0.5 - least.
    const double some_more = 1.3 * static_cast<double>(most) + 32;
    const double least = 0.5 - some_more / static_cast<double>(weights_.size());
    std::vector<Candidate> candidates = CandidatesAgainst(drift, least);
    if (candidates.size() < most && least > 0) candidates = CandidatesAgainst(drift, 0);
    if (candidates.size() > most) {
      const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(most);
      std::nth_element(candidates.begin(), end, candidates.end(), std::greater<>());
      candidates.erase(end, candidates.end());
    }
    return candidates;
  }

  double Step(std::size_t i) const { return static_cast<double>(farther_[i]) - static_cast<double>(nearest_[i]); }

  // The numbers against the drift that are as close as `least`, or closer.
  std::vector<Candidate> CandidatesAgainst(double drift, double least) const {
    std::vector<std::uint32_t> found(weights_.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {  // without branches, as above
      const double error = Error(i), step = Step(i);
      found[count] = static_cast<std::uint32_t>(i);
      count += static_cast<std::size_t>((error * drift > 0) & (std::fabs(error) >= least * std::fabs(step)));
    }
    std::vector<Candidate> candidates;
    candidates.reserve(count);
    for (std::size_t k = 0; k < count; ++k) {
      const double step = Step(found[k]);
      if (step != 0 && std::isfinite(step)) candidates.push_back({Error(found[k]) / step, found[k], step});
    }
    return candidates;
  }

  const DType target_;
  const std::vector<float> weights_;
  std::vector<std::uint16_t> codes_, others_;
  std::vector<float> nearest_, farther_;
};

// f(first element, number of elements) for the stretches of one output channel. Groups divide axis 0 where the channels
// are on another axis.
template <class F>
void ForEachStretch(const Shape& shape, const FoldedWeight& how, std::int64_t channel, F f) {
  const std::int64_t channels = shape[how.channel_axis];
  const std::int64_t inner = shape.SizeOf(how.channel_axis + 1, shape.rank());
  const std::int64_t rows = shape.SizeOf(0, how.channel_axis) / how.groups;
  const std::int64_t first_row = channel / channels * rows;
  for (std::int64_t row = first_row; row < first_row + rows; ++row) {
    f((row * channels + channel % channels) * inner, inner);
  }
}

}  // namespace

NDArray RoundWithCompensation(const NDArray& weight, const FoldedWeight& how) {
  NDArray rounded(how.target, weight.shape());
  const auto round = [&](std::int64_t number) {
    std::vector<float> weights;
    ForEachStretch(weight.shape(), how, number, [&](std::int64_t first, std::int64_t count) {
      const float* begin = weight.As<float>() + first;
      weights.insert(weights.end(), begin, begin + count);
    });
    Channel channel(std::move(weights), how.target);
    channel.Compensate();
    const std::uint16_t* code = channel.codes().data();
    ForEachStretch(weight.shape(), how, number, [&](std::int64_t first, std::int64_t count) {
      std::copy(code, code + count, rounded.As<std::uint16_t>() + first);
      code += count;
    });
  };
  kernels::ParallelFor(weight.shape()[how.channel_axis] * how.groups, 1, round);
  return rounded;
}

}  // namespace amp
