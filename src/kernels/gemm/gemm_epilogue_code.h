// What products do with their sums; see gemm_code.h.
#pragma once

#include <cstdint>

#include "kernels/base/leaky_relu_code.h"
#include "kernels/gemm/gemm.h"

namespace amp::kernels {

// Makes results of sums.
template <class Ops>
struct GemmEpilogue {
  using V = typename Ops::Vector;
  using Int = std::int64_t;
  static constexpr int kLanes = Ops::kLanes;
  static constexpr Int kLine = 64;

  // Some rows and columns of the results.
  struct Place {
    const float *bias, *slopes;  // or null
    const char* sum;             // or null
    char* destination;
    Int sum_bytes, destination_bytes;  // from one row to the next
    bool is_bf16, sum_is_bf16;         // the destination, and the sum; else float32
    Int columns;
    const MapStep* functions;
    std::size_t num_functions;
    float low, high;  // bounds
  };

  // The place of `columns` results of a row and of the rows behind it, at most as many as two vectors have.
  static Place PlaceOf(const Gemm& job, const GemmData& data, Int row, Int channel, Int columns) {
    const Int element = job.destination.is_bf16 ? 2 : 4, sum_element = job.sum.is_bf16 ? 2 : 4;
    Place place;
    place.bias = data.bias == nullptr ? nullptr : data.bias + channel;
    place.slopes = data.slopes == nullptr ? nullptr : data.slopes + channel;
    place.sum_bytes = job.sum.pixel * sum_element;
    place.destination_bytes = job.destination.pixel * element;
    place.is_bf16 = job.destination.is_bf16;
    place.sum_is_bf16 = job.sum.is_bf16;
    const char* sum = static_cast<const char*>(data.sum);
    place.sum = sum == nullptr ? nullptr : sum + row * place.sum_bytes + channel * sum_element;
    place.destination = static_cast<char*>(data.destination) + row * place.destination_bytes + channel * element;
    place.columns = columns < 2 * kLanes ? columns : 2 * kLanes;
    place.functions = data.functions;
    place.num_functions = data.num_functions;
    place.low = job.low;
    place.high = job.high;
    return place;
  }

  // Two lines of each row, those that are written to be owned. Inlined always: gcc 12 takes a function that only
  // fetches for one without effects, and removes calls of it.
  [[gnu::always_inline]] static void PrefetchResults(const Place& place, Int rows) {
    for (Int r = 0; r < rows; ++r) {
      const char* result = place.destination + r * place.destination_bytes;
      __builtin_prefetch(result, 1, 3);
      __builtin_prefetch(result + kLine, 1, 3);
    }
    for (Int r = 0; r < (place.sum == nullptr ? 0 : rows); ++r) {
      const char* added = place.sum + r * place.sum_bytes;
      __builtin_prefetch(added, 0, 2);
      __builtin_prefetch(added + kLine, 0, 2);
    }
  }

  // `place` by value: what is written cannot change it, so that it stays in registers.
  template <bool kIsBF16, bool kSumIsBF16, int kVectors>
  static void Finish(const Place place, Int rows, const float* products) {
    V bias[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      bias[v] = place.bias == nullptr ? Ops::All(0)
                                      : Ops::template Load<false>(place.bias + v * kLanes, place.columns - v * kLanes);
    }
    const bool is_full = place.columns == kVectors * kLanes;
    if (place.sum == nullptr) {
      is_full ? FinishAll<kIsBF16, kSumIsBF16, kVectors, false, true>(place, rows, products, bias)
              : FinishAll<kIsBF16, kSumIsBF16, kVectors, false, false>(place, rows, products, bias);
    } else {
      is_full ? FinishAll<kIsBF16, kSumIsBF16, kVectors, true, true>(place, rows, products, bias)
              : FinishAll<kIsBF16, kSumIsBF16, kVectors, true, false>(place, rows, products, bias);
    }
  }

  template <bool kIsBF16, bool kSumIsBF16, int kVectors, bool kHasSum, bool kIsFull>
  [[gnu::always_inline]] static void FinishAll(const Place& place, Int rows, const float* products,
                                               const V (&bias)[kVectors]) {
    constexpr Int kElement = kIsBF16 ? 2 : 4, kSumElement = kSumIsBF16 ? 2 : 4;
    for (Int r = 0; r < rows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        const Int first = v * kLanes, count = kIsFull ? kLanes : place.columns - first;
        V x = Ops::template Load<false>(products + (r * kVectors + v) * kLanes, kLanes) + bias[v];
        if constexpr (kHasSum) {
          x = x + Ops::template Load<kSumIsBF16>(place.sum + r * place.sum_bytes + first * kSumElement, count);
        }
        if (place.slopes == nullptr) {
          x = Ops::Clip(x, place.low, place.high);
        } else {
          x = LeakyRelu<Ops>(x, Ops::template Load<false>(place.slopes + first, count));
        }
        Ops::template Store<kIsBF16>(place.destination + r * place.destination_bytes + first * kElement, count, x);
      }
    }
  }

  template <int kVectors>
  static void FinishSums(const Place& place, Int rows, const float* products) {
    if (place.is_bf16) {
      place.sum_is_bf16 ? Finish<true, true, kVectors>(place, rows, products)
                        : Finish<true, false, kVectors>(place, rows, products);
    } else {
      place.sum_is_bf16 ? Finish<false, true, kVectors>(place, rows, products)
                        : Finish<false, false, kVectors>(place, rows, products);
    }
  }

  template <int kVectors>
  static void Finish(const Place& place, Int rows, float* products) {
    if (place.num_functions != 0) return Apply<kVectors>(place, rows, products);
    FinishSums<kVectors>(place, rows, products);
  }

  // Functions are applied to what is complete, in float32.
  template <int kVectors>
  [[gnu::noinline]] static void Apply(Place place, Int rows, float* products) {
    Place complete = place;
    complete.destination = reinterpret_cast<char*>(products);
    complete.destination_bytes = kVectors * kLanes * static_cast<Int>(sizeof(float));
    complete.is_bf16 = false;
    complete.low = -__builtin_inff();
    complete.high = __builtin_inff();
    FinishSums<kVectors>(complete, rows, products);
    ApplyMapSteps(place.functions, place.num_functions, rows * kVectors * kLanes, products);
    place.bias = nullptr;
    place.sum = nullptr;
    FinishSums<kVectors>(place, rows, products);
  }
};

}  // namespace amp::kernels
