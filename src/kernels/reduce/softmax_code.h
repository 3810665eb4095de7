// The code of softmax, for vectors of kLanes numbers. One source for all instruction sets; see vector_code.h.
#pragma once

#include <cstring>

#include "kernels/base/vector_code.h"
#include "kernels/reduce/softmax.h"

namespace amp::kernels {

template <Isa kIsa, int kLanes>
struct SoftmaxCode {
  using Code = VectorCode<kIsa, kLanes>;
  using Floats = typename Code::Floats;
  using Ints = typename Code::Ints;
  using Halves = typename Code::Halves;

  static constexpr std::int64_t kMaxWidth = SoftmaxBlock::kMaxWidth;

  // The larger of two vectors or numbers; a where b is a NaN.
  template <class V>
  static V Larger(V a, V b) {
    return b > a ? b : a;
  }

  // Not denormal, because those take a hundred times as long.
  static Floats Exp(Floats x) { return x < -87.0f ? Code::All(0) : Code::Exp(x < -87.0f ? Code::All(-87.0f) : x); }

  static Floats Load(const float* x) { return Code::Load(x); }
  static Floats Load(const std::uint16_t* x) { return Code::LoadBF16(x); }
  // The first `count` elements, then `padding`.
  template <class T>
  static Floats LoadPart(const T* x, std::int64_t count, float padding) {
    float elements[kLanes];
    for (std::int64_t i = 0; i < kLanes; ++i) elements[i] = padding;
    for (std::int64_t i = 0; i < count; ++i) elements[i] = Code::Number(x + i);
    return Code::Load(elements);
  }

  static void Store(float* y, Floats value, std::int64_t count) {
    std::memcpy(y, &value, static_cast<std::size_t>(count) * sizeof(float));
  }
  static void Store(std::uint16_t* y, Floats value, std::int64_t count) {
    const Halves halves = __builtin_convertvector(Code::RoundedBits(value), Halves);
    std::memcpy(y, &halves, static_cast<std::size_t>(count) * sizeof(std::uint16_t));
  }

  // Calls f(place in x, column, vector of x, how many of its elements count) for all vectors of a block. What does not
  // count is -inf once it is scaled.
  template <class X, class F>
  static void ForEachVector(const Softmax& job, const SoftmaxBlock& b, const X* x, F&& f) {
    const float padding = job.scale < 0 ? __builtin_inff() : -__builtin_inff();
    const std::int64_t all_rows = b.rows + (b.rest != 0 ? 1 : 0);
    for (std::int64_t r = 0; r < all_rows; ++r) {
      const std::int64_t width = r < b.rows ? b.width : b.rest, first = r * b.stride;
      std::int64_t i = 0;
      for (; i + kLanes <= width; i += kLanes) f(first + i, i, Load(x + first + i), std::int64_t{kLanes});
      if (i < width) f(first + i, i, LoadPart(x + first + i, width - i, padding), width - i);
    }
  }

  // Whole vectors.
  static void Fill(float* tile, std::int64_t width, float value) {
    const Floats values = Code::All(value);
    std::int64_t i = 0;
    do {
      std::memcpy(tile + i, &values, sizeof values);
      i += kLanes;
    } while (i < width);
  }

  // Folds a block of one line. Places behind its width change nothing.
  template <class F>
  static void FoldLine(std::int64_t width, float* tile, F&& join) {
    Floats joined = Code::Load(tile);
    for (std::int64_t i = kLanes; i < width; i += kLanes) joined = join(joined, Code::Load(tile + i));
    float lanes[kLanes];
    std::memcpy(lanes, &joined, sizeof lanes);
    for (int count = kLanes / 2; count > 0; count /= 2) {
      for (int i = 0; i < count; ++i) lanes[i] = join(lanes[i], lanes[i + count]);
    }
    Fill(tile, width, lanes[0]);
  }

  // What all numbers of a line have come to stands in each place of that line.
  template <class F>
  static void Fold(const SoftmaxBlock& b, float* tile, F&& join) {
    if (b.period == 1) return FoldLine(b.width, tile, join);
    std::int64_t width = b.width;
    while (width > b.period) {
      width /= 2;
      std::int64_t i = 0;
      for (; i + kLanes <= width; i += kLanes) {
        const Floats joined = join(Code::Load(tile + i), Code::Load(tile + width + i));
        std::memcpy(tile + i, &joined, sizeof joined);
      }
      for (; i < width; ++i) tile[i] = join(tile[i], tile[width + i]);
    }
    for (; width < b.width; width *= 2)
      std::memcpy(tile + width, tile, static_cast<std::size_t>(width) * sizeof(float));
  }

  template <class X>
  static void FindLargest(const Softmax& job, const SoftmaxBlock& b, const X* x, float* largest) {
    Fill(largest, b.width, -__builtin_inff());
    ForEachVector(job, b, x, [&](std::int64_t, std::int64_t column, Floats value, std::int64_t) {
      const Floats found = Larger(Code::Load(largest + column), value * job.scale);
      std::memcpy(largest + column, &found, sizeof found);
    });
    Fold(b, largest, [](auto p, auto q) { return Larger(p, q); });
    for (std::int64_t i = 0; job.hides && i < b.width + kLanes; ++i) {
      largest[i] = largest[i] == -__builtin_inff() ? 0.0f : largest[i];
    }
  }

  // The sums of powers of each line. Powers wait in y, if it can hold them.
  template <class X, class Y>
  static void AddPowers(const Softmax& job, const SoftmaxBlock& b, const X* x, const float* largest, float* sums,
                        Y* y) {
    Fill(sums, b.width, 0);
    ForEachVector(job, b, x, [&](std::int64_t at, std::int64_t column, Floats value, std::int64_t count) {
      const Floats power = Exp(value * job.scale - Code::Load(largest + column));
      const Floats sum = Code::Load(sums + column) + power;
      std::memcpy(sums + column, &sum, sizeof sum);
      if constexpr (sizeof(Y) == sizeof(float)) {
        if (!job.logarithm) Store(y + at, power, count);
      }
    });
    Fold(b, sums, [](auto p, auto q) { return p + q; });
    for (std::int64_t i = 0; job.hides && i < b.width; ++i) sums[i] = sums[i] == 0.0f ? 1.0f : sums[i];
  }

  // Turns sums into what is subtracted or multiplied at the end.
  static void Prepare(const Softmax& job, std::int64_t width, float* sums) {
    for (std::int64_t i = 0; i < width; i += kLanes) {
      const Floats sum = Code::Load(sums + i), term = job.logarithm ? Code::Log(sum) : 1.0f / sum;
      std::memcpy(sums + i, &term, sizeof term);
    }
  }

  template <class X, class Y>
  static void Block(const Softmax& job, const SoftmaxBlock& b, const void* from, void* to) {
    alignas(64) float largest[kMaxWidth + kLanes], sums[kMaxWidth + kLanes];
    const X* x = static_cast<const X*>(from);
    Y* y = static_cast<Y*>(to);
    FindLargest(job, b, x, largest);
    AddPowers(job, b, x, largest, sums, y);
    Prepare(job, b.width, sums);
    if (job.logarithm) {
      ForEachVector(job, b, x, [&](std::int64_t at, std::int64_t column, Floats value, std::int64_t count) {
        const Floats shifted = value * job.scale - Code::Load(largest + column);
        Store(y + at, shifted - Code::Load(sums + column), count);
      });
    } else if constexpr (sizeof(Y) == sizeof(float)) {
      ForEachVector(job, b, y, [&](std::int64_t at, std::int64_t column, Floats power, std::int64_t count) {
        Store(y + at, power * Code::Load(sums + column), count);
      });
    } else {
      ForEachVector(job, b, x, [&](std::int64_t at, std::int64_t column, Floats value, std::int64_t count) {
        const Floats power = Exp(value * job.scale - Code::Load(largest + column));
        Store(y + at, power * Code::Load(sums + column), count);
      });
    }
  }

  static void AnyBlock(const Softmax& job, const SoftmaxBlock& block, const void* x, void* y) {
    using Half = std::uint16_t;
    if (job.x_is_bf16)
      return job.y_is_bf16 ? Block<Half, Half>(job, block, x, y) : Block<Half, float>(job, block, x, y);
    return job.y_is_bf16 ? Block<float, Half>(job, block, x, y) : Block<float, float>(job, block, x, y);
  }
};

}  // namespace amp::kernels
