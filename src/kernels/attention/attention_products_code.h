// Products of attention and its gradient, for the vectors of an instruction set. Of internal linkage, on purpose: see
// cast_table.h.
//
// They are sums over units: a float32, or two bfloat16 that one instruction multiplies and adds. The right-hand side
// lies in panels of kPanel columns. Six rows of a panel are summed up in registers.
#pragma once

#include <utility>

#include "kernels/attention/attention.h"
#include "kernels/base/element_vectors.h"

namespace amp::kernels {
namespace {

using Int = std::int64_t;

constexpr Int kStrip = 6;  // rows that are summed up together

constexpr Int Min(Int a, Int b) { return a < b ? a : b; }
constexpr Int Max(Int a, Int b) { return a > b ? a : b; }
constexpr Int UnitsOf(Int x, Int unit) { return (x + unit - 1) / unit; }
constexpr Int Padded(Int x, Int unit) { return UnitsOf(x, unit) * unit; }

// Products in float32. With six rows, sums, the vectors of a panel and a factor fill the registers.
template <Isa kIsa, int kWidth>
struct SingleProducts : ElementVectors<kIsa, kWidth> {
  using Code = ElementVectors<kIsa, kWidth>;
  using typename Code::Floats;
  using Unit = float;
  using Units = Floats;
  static constexpr Int kPerUnit = 1;
  static constexpr int kVectors = kWidth == 16 ? 4 : 2;

  static Units LoadUnits(const Unit* from) { return Code::Load(from); }
  static Units AllUnits(Unit x) { return Code::All(x); }
  static Floats AddProducts(Units a, Units b, Floats sum) { return Code::MultiplyAdd(a, b, sum); }
};

template <class A>
constexpr Int kPanel = A::kVectors* A::kLanes;

// Element (r, u) of a left-hand side, `row` and `unit` apart.
template <class A>
struct Left {
  const typename A::Unit* data;
  Int row, unit;
};

// c (kNumRows, kNumVectors vectors) = a b, added to factors[row] * c where there are factors. Rows of b and c are
// `b_unit` and `c_row` apart.
template <class A, int kNumRows, int kNumVectors>
void MultiplyStrip(Left<A> a, const typename A::Unit* b, Int b_unit, Int depth, const float* factors, float* c,
                   Int c_row) {
  typename A::Floats sums[kNumRows][kNumVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kNumRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kNumVectors; ++v) {
      sums[r][v] = factors == nullptr ? A::All(0) : A::All(factors[r]) * A::Load(c + r * c_row + v * A::kLanes);
    }
  }
  for (Int u = 0; u < depth; ++u) {
    typename A::Units right[kNumVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kNumVectors; ++v) right[v] = A::LoadUnits(b + u * b_unit + v * A::kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kNumRows; ++r) {
      const typename A::Units left = A::AllUnits(a.data[r * a.row + u * a.unit]);
#pragma GCC unroll 4
      for (int v = 0; v < kNumVectors; ++v) sums[r][v] = A::AddProducts(left, right[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kNumRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kNumVectors; ++v) A::Store(c + r * c_row + v * A::kLanes, sums[r][v]);
  }
}

template <class A>
using StripFunction = void (*)(Left<A>, const typename A::Unit*, Int, Int, const float*, float*, Int);

template <class A, int... i>
StripFunction<A> StripOf(Int num_rows, Int num_vectors, std::integer_sequence<int, i...>) {
  constexpr StripFunction<A> kFunctions[] = {MultiplyStrip<A, i / A::kVectors + 1, i % A::kVectors + 1>...};
  return kFunctions[(num_rows - 1) * A::kVectors + num_vectors - 1];
}

// The function for up to kStrip rows and a panel of columns.
template <class A>
StripFunction<A> StripOf(Int num_rows, Int num_columns) {
  constexpr std::make_integer_sequence<int, kStrip * A::kVectors> kKinds{};
  return StripOf<A>(num_rows, UnitsOf(num_columns, A::kLanes), kKinds);
}

constexpr float kOnes[kStrip] = {1, 1, 1, 1, 1, 1};  // factors of what is added to as it is

}  // namespace
}  // namespace amp::kernels
