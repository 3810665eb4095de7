// The loops of reductions, for vectors of kLanes numbers in double. One source for all instruction sets; see
// vector_code.h.
#pragma once

#include <cstring>

#include "kernels/reduce/reduce.h"

namespace amp::kernels {

template <int kLanes>
struct ReduceVectors;
template <>
struct ReduceVectors<2> {
  using Doubles [[gnu::vector_size(16)]] = double;
  using Floats [[gnu::vector_size(8)]] = float;
  using Ints [[gnu::vector_size(8)]] = std::uint32_t;
  using Halves [[gnu::vector_size(4)]] = std::uint16_t;
};
template <>
struct ReduceVectors<4> {
  using Doubles [[gnu::vector_size(32)]] = double;
  using Floats [[gnu::vector_size(16)]] = float;
  using Ints [[gnu::vector_size(16)]] = std::uint32_t;
  using Halves [[gnu::vector_size(8)]] = std::uint16_t;
};
template <>
struct ReduceVectors<8> {
  using Doubles [[gnu::vector_size(64)]] = double;
  using Floats [[gnu::vector_size(32)]] = float;
  using Ints [[gnu::vector_size(32)]] = std::uint32_t;
  using Halves [[gnu::vector_size(16)]] = std::uint16_t;
};

template <Isa kIsa, int kLanes>
struct ReduceCode {
  using Doubles = typename ReduceVectors<kLanes>::Doubles;
  using Floats = typename ReduceVectors<kLanes>::Floats;
  using Ints = typename ReduceVectors<kLanes>::Ints;
  using Halves = typename ReduceVectors<kLanes>::Halves;

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
    switch (op) {
      case ReduceOp::kNanProduct:
        return ReduceOp::kProduct;
      case ReduceOp::kProduct:
      case ReduceOp::kMax:
      case ReduceOp::kMin:
        return op;
      default:
        return ReduceOp::kSum;
    }
  }

  // Adds x to a total; D is a number or a vector of them.
  template <ReduceOp kOp, class D>
  static D Step(D total, D x) {
    switch (kOp) {
      case ReduceOp::kSum:
        return total + x;
      case ReduceOp::kSumOfMagnitudes:
        return total + (x < 0.0 ? -x : x);
      case ReduceOp::kSumOfSquares:
        return total + x * x;
      case ReduceOp::kNanSum:
        return x == x ? total + x : total;
      case ReduceOp::kProduct:
        return total * x;
      case ReduceOp::kNanProduct:
        return x == x ? total * x : total;
      case ReduceOp::kMax:
        return (x > total) | (x != x) ? x : total;
      case ReduceOp::kMin:
        return (x < total) | (x != x) ? x : total;
    }
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

  template <ReduceOp kOp>
  static ReduceLoops LoopsFor(bool is_bf16) {
    if (is_bf16) return {Start(kOp), Columns<kOp, std::uint16_t>, Run<kOp, std::uint16_t>, Join<kOp>};
    return {Start(kOp), Columns<kOp, float>, Run<kOp, float>, Join<kOp>};
  }

  static ReduceLoops Loops(ReduceOp op, bool is_bf16) {
    switch (op) {
      case ReduceOp::kSum:
        return LoopsFor<ReduceOp::kSum>(is_bf16);
      case ReduceOp::kSumOfMagnitudes:
        return LoopsFor<ReduceOp::kSumOfMagnitudes>(is_bf16);
      case ReduceOp::kSumOfSquares:
        return LoopsFor<ReduceOp::kSumOfSquares>(is_bf16);
      case ReduceOp::kNanSum:
        return LoopsFor<ReduceOp::kNanSum>(is_bf16);
      case ReduceOp::kProduct:
        return LoopsFor<ReduceOp::kProduct>(is_bf16);
      case ReduceOp::kNanProduct:
        return LoopsFor<ReduceOp::kNanProduct>(is_bf16);
      case ReduceOp::kMax:
        return LoopsFor<ReduceOp::kMax>(is_bf16);
      case ReduceOp::kMin:
        break;
    }
    return LoopsFor<ReduceOp::kMin>(is_bf16);
  }
};

}  // namespace amp::kernels
