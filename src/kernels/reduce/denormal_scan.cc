#include "kernels/reduce/denormal_scan.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "kernels/base/float_bits.h"
#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kLanes = 64;  // rows side by side that are looked at together, and elements of one row
constexpr std::int64_t kGrain = 64;  // rows that are worth a thread
constexpr std::size_t kBlock = 16384;

void Lower(std::atomic<Magnitude>* least, Magnitude found) {
  Magnitude known = least->load(std::memory_order_relaxed);
  while (found < known && !least->compare_exchange_weak(known, found, std::memory_order_relaxed)) {
  }
}

// Rows of zeros do not count.
Magnitude IfAny(Magnitude largest) { return largest == 0 ? kInfiniteMagnitude : largest; }

Magnitude LargestOf(const std::uint16_t* data, std::int64_t count) {
  std::int16_t largest = 0;  // signed: all vector instructions have their maximum
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, static_cast<std::int16_t>(data[i] & kMagnitudeMask));
  }
  return static_cast<Magnitude>(largest);
}

std::size_t NumBlocks(std::size_t count) { return (count + kBlock - 1) / kBlock; }

// Calls body(begin, count) for all blocks.
template <class Body>
void ForBlocks(std::size_t count, const Body& body) {
  ParallelFor(static_cast<std::int64_t>(NumBlocks(count)), 1, [&](std::int64_t i) {
    const std::size_t begin = static_cast<std::size_t>(i) * kBlock;
    body(begin, std::min(kBlock, count - begin));
  });
}

}  // namespace

void RowScan::Axes::Add(const Axis& axis) {
  // Along both of two axes that follow each other in memory goes one.
  if (count != 0 && axes[count - 1].stride == axis.size * axis.stride && axes[count - 1].is_summed == axis.is_summed) {
    axes[count - 1].size *= axis.size;
    axes[count - 1].stride = axis.stride;
    return;
  }
  axes.at(count++) = axis;
}

std::int64_t RowScan::Axes::Size() const {
  std::int64_t size = 1;
  for (std::size_t i = 0; i < count; ++i) size *= axes[i].size;
  return size;
}

void RowScan::AddAxis(std::int64_t size, std::int64_t stride, bool is_summed) {
  if (size != 1) all_.axes.at(all_.count++) = {size, stride, is_summed};
}

void RowScan::Prepare() {
  const auto end = all_.axes.begin() + static_cast<std::ptrdiff_t>(all_.count);
  std::stable_sort(all_.axes.begin(), end, [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  Axes merged;
  for (auto axis = all_.axes.begin(); axis != end; ++axis) merged.Add(*axis);
  if (merged.count != 0) inner_ = merged.axes[merged.count - 1];
  for (std::size_t i = 0; i + 1 < merged.count; ++i) {
    Axes& axes = merged.axes[i].is_summed ? summed_ : kept_;
    axes.axes[axes.count++] = merged.axes[i];
  }
}

// The offsets of all places along some axes, one after the other.
class RowScan::Walk {
 public:
  explicit Walk(const Axes& axes, std::int64_t place = 0) : axes_(axes) {
    for (std::size_t i = axes.count; i-- > 0; place /= axes.axes[i].size) {
      index_[i] = place % axes.axes[i].size;
      offset_ += index_[i] * axes.axes[i].stride;
    }
  }
  std::int64_t offset() const { return offset_; }
  void Next() {
    for (std::size_t i = axes_.count; i-- > 0;) {
      const Axis& axis = axes_.axes[i];
      offset_ += axis.stride;
      if (++index_[i] < axis.size) return;
      offset_ -= axis.size * axis.stride;
      index_[i] = 0;
    }
  }

 private:
  const Axes& axes_;
  std::array<std::int64_t, kMaxAxes> index_{};
  std::int64_t offset_ = 0;
};

Magnitude RowScan::LargestOfRow(const std::uint16_t* row, Magnitude enough) const {
  Magnitude largest = 0;
  Walk walk(summed_);
  for (std::int64_t runs = summed_.Size(); runs > 0 && largest < enough; --runs, walk.Next()) {
    const std::uint16_t* run = row + walk.offset();
    for (std::int64_t i = 0; i < inner_.size && largest < enough; i += kLanes) {
      const std::int64_t count = std::min(kLanes, inner_.size - i);
      if (inner_.stride == 1) {
        largest = std::max(largest, LargestOf(run + i, count));
        continue;
      }
      for (std::int64_t j = i; j < i + count; ++j) {
        largest = std::max<Magnitude>(largest, run[j * inner_.stride] & kMagnitudeMask);
      }
    }
  }
  return largest;
}

// The least of the largest magnitudes of up to kLanes rows that lie side by side.
Magnitude RowScan::SmallestOfRows(const std::uint16_t* rows, std::int64_t count, Magnitude enough) const {
  std::int16_t largest[kLanes] = {};
  Walk walk(summed_);
  for (std::int64_t left = summed_.Size(); left > 0; --left, walk.Next()) {
    const std::uint16_t* column = rows + walk.offset();
    std::int16_t least = static_cast<std::int16_t>(kMagnitudeMask);
    for (std::int64_t i = 0; i < count; ++i) {
      largest[i] = std::max(largest[i], static_cast<std::int16_t>(column[i * inner_.stride] & kMagnitudeMask));
      least = std::min(least, largest[i]);
    }
    if (least >= static_cast<std::int16_t>(enough)) return static_cast<Magnitude>(least);
  }
  Magnitude least = kInfiniteMagnitude;
  for (std::int64_t i = 0; i < count; ++i) least = std::min(least, IfAny(static_cast<Magnitude>(largest[i])));
  return least;
}

Magnitude RowScan::Run(const std::uint16_t* data, Magnitude enough) const {
  std::atomic<Magnitude> least{kInfiniteMagnitude};
  if (kept_.Size() * summed_.Size() * inner_.size == 0) return least;
  const std::int64_t rows = inner_.is_summed ? 1 : CeilDiv(inner_.size, kLanes);  // blocks of them, of each place
  ParallelFor(kept_.Size() * rows, inner_.is_summed ? kGrain : 1, [&](std::int64_t i) {
    const std::uint16_t* place = data + Walk(kept_, i / rows).offset();
    if (inner_.is_summed) return Lower(&least, IfAny(LargestOfRow(place, enough)));
    const std::int64_t first = i % rows * kLanes;
    Lower(&least, SmallestOfRows(place + first * inner_.stride, std::min(kLanes, inner_.size - first), enough));
  });
  return least;
}

Magnitudes MagnitudesOf(const std::uint16_t* data, std::size_t count) {
  std::atomic<Magnitude> smallest{kInfiniteMagnitude}, below{kMagnitudeMask};  // the distance of the largest from above
  ForBlocks(count, [&](std::size_t begin, std::size_t size) {
    Magnitudes found;
    for (std::size_t i = begin; i < begin + size; ++i) {
      const Magnitude x = data[i] & kMagnitudeMask;
      found.largest = std::max(found.largest, x);
      found.smallest = std::min(found.smallest, IfAny(x));
    }
    Lower(&smallest, found.smallest);
    Lower(&below, static_cast<Magnitude>(kMagnitudeMask - found.largest));
  });
  return {static_cast<Magnitude>(kMagnitudeMask - below), smallest};
}

void ScaleUp(const std::uint16_t* from, std::uint16_t* to, std::size_t count, int exponent) {
  // Two factors: one could be beyond float32.
  const float first = std::ldexp(1.0f, exponent / 2), second = std::ldexp(1.0f, exponent - exponent / 2);
  ForBlocks(count, [&](std::size_t begin, std::size_t size) {
    for (std::size_t i = begin; i < begin + size; ++i) {
      to[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(BF16ToFloat(from[i]) * first * second) >> 16);
    }
  });
}

void ScaleDown(float* numbers, std::size_t count, int exponent) {
  if (exponent == 0) return;
  // What the first factor makes denormal the second one makes 0.
  const int last = std::min(exponent, 126);
  const float first = std::ldexp(1.0f, last - exponent), second = std::ldexp(1.0f, -last);
  ForBlocks(count, [&](std::size_t begin, std::size_t size) {
    for (std::size_t i = begin; i < begin + size; ++i) numbers[i] = numbers[i] * first * second;
  });
}

}  // namespace amp::kernels
