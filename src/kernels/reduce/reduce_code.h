// The loops of reductions, for vectors of kLanes numbers in double. One source for all instruction sets; see
// vector_code.h.
#pragma once

#include <cstring>

#include "kernels/base/vector_of.h"
#include "kernels/reduce/reduce.h"

namespace amp::kernels {

template <Isa kIsa, int kLanes>
struct ReduceCode {
  using Doubles = typename VectorOf<double, kLanes>::Type;
  using Floats = typename VectorOf<float, kLanes>::Type;
  using Ints = typename VectorOf<std::uint32_t, kLanes>::Type;
  using Halves = typename VectorOf<std::uint16_t, kLanes>::Type;

  template <class V, class T>
  static V LoadVector(const T* x) {
    V v;
    std::memcpy(&v, x, sizeof v);
    return v;
  }
  static Doubles Load(const float* x) { return __builtin_convertvector(LoadVector<Floats>(x), Doubles); }
  static Doubles Load(const std::uint16_t* x) {  // bfloat16
    const Ints bits = __builtin_convertvector(LoadVector<Halves>(x), Ints) << 16;
    return __builtin_convertvector(reinterpret_cast<Floats>(bits), Doubles);
  }
  static double LoadOne(const float* x) { return static_cast<double>(*x); }
  static double LoadOne(const std::uint16_t* x) {
    const std::uint32_t bits = static_cast<std::uint32_t>(*x) << 16;
    float number;
    std::memcpy(&number, &bits, sizeof number);
    return static_cast<double>(number);
  }

  // The total of nothing.
  static double Start(ReduceOp op) {
    if (op == ReduceOp::kProduct || op == ReduceOp::kNanProduct) return 1;
    return op == ReduceOp::kMax ? -__builtin_inf() : op == ReduceOp::kMin ? __builtin_inf() : 0;
  }

  // How totals join: as elements do, but that those are magnitudes, powers or numbers already.
  static constexpr ReduceOp JoinOf(ReduceOp op) {
    if (op == ReduceOp::kNanProduct) return ReduceOp::kProduct;
    return op == ReduceOp::kProduct || op == ReduceOp::kMax || op == ReduceOp::kMin ? op : ReduceOp::kSum;
  }

  // Adds x to a total; D is a number or a vector of them.
  template <ReduceOp kOp, class D>
  static D Step(D total, D x) {
    if constexpr (kOp == ReduceOp::kSum) return total + x;
    if constexpr (kOp == ReduceOp::kSumOfMagnitudes) return total + (x < 0.0 ? -x : x);
    if constexpr (kOp == ReduceOp::kSumOfSquares) return total + x * x;
    if constexpr (kOp == ReduceOp::kNanSum) return x == x ? total + x : total;
    if constexpr (kOp == ReduceOp::kProduct) return total * x;
    if constexpr (kOp == ReduceOp::kNanProduct) return x == x ? total * x : total;
    if constexpr (kOp == ReduceOp::kMax) return (x > total) | (x != x) ? x : total;
    if constexpr (kOp == ReduceOp::kMin) return (x < total) | (x != x) ? x : total;
  }

  template <ReduceOp kOp, class T>
  static void Columns(const void* data, std::int64_t stride, std::int64_t rows, std::int64_t width, double* tile) {
    constexpr std::int64_t kTogether = 4;  // rows for each visit of the accumulators
    const T* x = static_cast<const T*>(data);
    for (; rows > 0; rows -= kTogether, x += kTogether * stride) {
      const std::int64_t count = rows < kTogether ? rows : kTogether;
      std::int64_t i = 0;
      for (; i + kLanes <= width; i += kLanes) {
        auto total = LoadVector<Doubles>(tile + i);
        if (count == kTogether) {
          for (std::int64_t r = 0; r < kTogether; ++r) total = Step<kOp>(total, Load(x + r * stride + i));
        } else {
          for (std::int64_t r = 0; r < count; ++r) total = Step<kOp>(total, Load(x + r * stride + i));
        }
        std::memcpy(tile + i, &total, sizeof total);
      }
      for (; i < width; ++i) {
        for (std::int64_t r = 0; r < count; ++r) tile[i] = Step<kOp>(tile[i], LoadOne(x + r * stride + i));
      }
    }
  }

  template <ReduceOp kOp, class T>
  static void Run(const void* data, std::int64_t count, double* result) {
    constexpr ReduceOp kJoin = JoinOf(kOp);
    constexpr std::int64_t kVectors = 4;
    const T* x = static_cast<const T*>(data);
    double total = *result;
    std::int64_t i = 0;
    if (count >= kLanes) {
      const double start = Start(kOp);
      Doubles totals[kVectors];
      for (Doubles& lanes : totals) lanes = start - Doubles{};
      for (; i + kVectors * kLanes <= count; i += kVectors * kLanes) {
        for (std::int64_t v = 0; v < kVectors; ++v) totals[v] = Step<kOp>(totals[v], Load(x + i + v * kLanes));
      }
      for (; i + kLanes <= count; i += kLanes) totals[0] = Step<kOp>(totals[0], Load(x + i));
      const Doubles first = Step<kJoin>(totals[0], totals[1]), second = Step<kJoin>(totals[2], totals[3]);
      const Doubles joined = Step<kJoin>(first, second);
      for (int lane = 0; lane < kLanes; ++lane) total = Step<kJoin>(total, joined[lane]);
    }
    for (; i < count; ++i) total = Step<kOp>(total, LoadOne(x + i));
    *result = total;
  }

  template <ReduceOp kOp>
  static void Join(const double* parts, std::int64_t count, double* totals) {
    for (std::int64_t i = 0; i < count; ++i) totals[i] = Step<JoinOf(kOp)>(totals[i], parts[i]);
  }

  template <ReduceOp kOp = ReduceOp::kSum>
  static ReduceLoops Loops(ReduceOp op, bool is_bf16) {
    if constexpr (kOp != ReduceOp::kMin) {
      if (op != kOp) return Loops<static_cast<ReduceOp>(static_cast<int>(kOp) + 1)>(op, is_bf16);
    }
    if (is_bf16) return {Start(kOp), Columns<kOp, std::uint16_t>, Run<kOp, std::uint16_t>, Join<kOp>};
    return {Start(kOp), Columns<kOp, float>, Run<kOp, float>, Join<kOp>};
  }
};

}  // namespace amp::kernels
