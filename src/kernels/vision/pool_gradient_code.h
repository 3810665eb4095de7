// The code of pooling's gradient, for vectors of kLanes numbers. One source for all instruction sets; see
// vector_code.h.
#pragma once

#include <cstring>

#include "kernels/base/vector_code.h"
#include "kernels/vision/pool_gradient.h"

namespace amp::kernels {

template <Isa kIsa, int kLanes>
struct PoolGradientCode {
  using Code = VectorCode<kIsa, kLanes>;
  using Floats = typename Code::Floats;
  using Ints = typename Code::Ints;

  static Floats Load(const float* x) { return Code::Load(x); }
  static Floats Load(const std::uint16_t* x) { return Code::LoadBF16(x); }

  // The elements of one window: [begin, end) along each axis of the source.
  struct Window {
    std::int64_t begin[3], end[3];
    std::int64_t inside = 1, padded = 1;

    Window(const PoolGradient& job, const std::int64_t (&at)[3]) {
      for (int axis = 0; axis < 3; ++axis) {
        const std::int64_t first = at[axis] * job.stride[axis] - job.pad[axis], past = first + job.kernel[axis];
        const std::int64_t size = job.in[axis], padded_size = size + job.pad[axis];
        const std::int64_t padded_end = past < padded_size ? past : padded_size;
        begin[axis] = first < 0 ? 0 : first;
        end[axis] = padded_end < size ? padded_end : size;
        inside *= end[axis] - begin[axis];
        padded *= padded_end - first;
      }
    }

    // Calls f(position) for all elements in order.
    template <class F>
    void ForElements(const PoolGradient& job, F&& f) const {
      for (std::int64_t d = begin[0]; d < end[0]; ++d) {
        for (std::int64_t h = begin[1]; h < end[1]; ++h) {
          for (std::int64_t w = begin[2]; w < end[2]; ++w) f((d * job.in[1] + h) * job.in[2] + w);
        }
      }
    }
  };

  // kLanes channels, or one where V is float.
  template <class T>
  static void AddToLargest(const PoolGradient& job, const Window& window, const T* x, Floats y, Floats g,
                           float* result) {
    Ints left = ~Ints{};
    window.ForElements(job, [&](std::int64_t position) {
      const Ints here = left & (Load(x + position * job.x.row) == y);
      float* to = result + position * job.result.row;
      const Floats sum = Code::Load(to) + Code::AsFloats(here & Code::Bits(g));
      std::memcpy(to, &sum, sizeof sum);
      left &= ~here;
    });
  }
  template <class T>
  static void AddToLargest(const PoolGradient& job, const Window& window, const T* x, float y, float g, float* result) {
    bool is_left = true;
    window.ForElements(job, [&](std::int64_t position) {
      if (!is_left || Code::Number(x + position * job.x.row) != y) return;
      result[position * job.result.row] += g;
      is_left = false;
    });
  }

  template <bool kMax, class T>
  static void Spread(const PoolGradient& job, const Window& window, const T* g, const T* x, const T* y, float* result,
                     std::int64_t channels) {
    const std::int64_t count = job.counts_pads ? window.padded : window.inside;
    const float divisor = kMax || count < 1 ? 1.0f : static_cast<float>(count);
    std::int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) {
      if constexpr (kMax) {
        AddToLargest(job, window, x + c, Load(y + c), Load(g + c), result + c);
      } else {
        const Floats share = Load(g + c) / divisor;
        window.ForElements(job, [&](std::int64_t position) {
          float* to = result + position * job.result.row + c;
          const Floats sum = Code::Load(to) + share;
          std::memcpy(to, &sum, sizeof sum);
        });
      }
    }
    for (; c < channels; ++c) {
      if constexpr (kMax) {
        AddToLargest(job, window, x + c, Code::Number(y + c), Code::Number(g + c), result + c);
      } else {
        const float share = Code::Number(g + c) / divisor;
        window.ForElements(job, [&](std::int64_t position) { result[position * job.result.row + c] += share; });
      }
    }
  }

  template <bool kMax, class T>
  static void Unit(const PoolGradient& job, const void* g, const void* x, const void* y, float* result,
                   std::int64_t channels) {
    for (std::int64_t i = 0; i < job.in_positions(); ++i) {
      std::memset(result + i * job.result.row, 0, static_cast<std::size_t>(channels) * sizeof(float));
    }
    std::int64_t position = 0, at[3];
    for (at[0] = 0; at[0] < job.out[0]; ++at[0]) {
      for (at[1] = 0; at[1] < job.out[1]; ++at[1]) {
        for (at[2] = 0; at[2] < job.out[2]; ++at[2], ++position) {
          Spread<kMax>(job, Window(job, at), static_cast<const T*>(g) + position * job.g.row, static_cast<const T*>(x),
                       static_cast<const T*>(y) + position * job.y.row, result, channels);
        }
      }
    }
  }

  using Half = std::uint16_t;
  static constexpr PoolGradientTable kTable = {
      kIsa, {{Unit<false, float>, Unit<false, Half>}, {Unit<true, float>, Unit<true, Half>}}};
};

}  // namespace amp::kernels
