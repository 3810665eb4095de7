// What tests of our products share: the code that runs here, operands of either dtype, and what holds for all products.
//
// A Problem has a `job`, a `source`, a `sum` and a `destination`, and says whether it has_sum.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "draw.h"
#include "guarded.h"
#include "kernels/base/cpu.h"
#include "kernels/base/float_bits.h"
#include "kernels/gemm/gemm.h"
#include "samples.h"
#include "tables_that_run.h"

namespace amp::kernels::testing {

// Code that multiplies numbers of one type.
template <class Table>
struct ProductVariant {
  const Table* table;
  ComputeType compute_type;
  bool strassen = false;

  typename Table::Run run() const { return table->run[static_cast<std::size_t>(compute_type)]; }
  bool is_int16() const { return compute_type == ComputeType::kInt16; }
};

template <class Table>
std::string NameOf(const ProductVariant<Table>& v) {
  constexpr const char* kNames[] = {" float32", " bfloat16", " int16"};
  return std::string(IsaName(v.table->isa)) + kNames[static_cast<std::size_t>(v.compute_type)] +
         (v.strassen ? " by Strassen" : "");
}

template <class Table>
std::vector<ProductVariant<Table>> VariantsOf(const std::vector<const Table*>& tables) {
  std::vector<ProductVariant<Table>> variants;
  for (const Table* table : tables) {
    for (std::size_t i = 0; i < std::size(table->run); ++i) {
      if (table->run[i] != nullptr) variants.push_back({table, static_cast<ComputeType>(i)});
    }
  }
  return variants;
}

// Elements of either dtype between guard pages.
class Elements {
 public:
  static constexpr float kUntouched = -77;

  Elements(bool is_bf16, std::int64_t count)
      : is_bf16_(is_bf16), memory_(static_cast<std::size_t>(count) * (is_bf16 ? 2 : 4)) {
    for (std::int64_t i = 0; i < count; ++i) Set(i, kUntouched);
  }
  void* data() const { return memory_.data(); }
  std::vector<char> bytes() const { return memory_.values(); }
  // Memory of the same size and dtype.
  std::unique_ptr<Elements> Another() const { return std::make_unique<Elements>(is_bf16_, size()); }
  std::int64_t size() const { return static_cast<std::int64_t>(memory_.size()) / (is_bf16_ ? 2 : 4); }
  float Get(std::int64_t i) const {
    return is_bf16_ ? BF16ToFloat(reinterpret_cast<const std::uint16_t*>(memory_.data())[i])
                    : reinterpret_cast<const float*>(memory_.data())[i];
  }
  void Set(std::int64_t i, float x) {
    if (is_bf16_) {
      reinterpret_cast<std::uint16_t*>(memory_.data())[i] = FloatToBF16(x);
    } else {
      reinterpret_cast<float*>(memory_.data())[i] = x;
    }
  }

 private:
  bool is_bf16_;
  Guarded<char> memory_;
};

// A number as products of bfloat16, or of float32, read it.
inline double Rounded(double x, bool to_bf16) { return to_bf16 ? BF16ToFloat(FloatToBF16(static_cast<float>(x))) : x; }

inline std::string PrintSizes(std::initializer_list<std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += std::to_string(size) + " ";
  return text;
}

// `draw_problem(draw, variant)` makes a problem; `compute(variant, problem, threads)` fills its destination.
template <class Variant, class DrawProblem, class Compute>
void ExpectBitsNotToDependOnThreads(const std::vector<Variant>& variants, DrawProblem draw_problem, Compute compute) {
  for (const Variant& variant : variants) {
    Draw draw(9);
    for (int i = 0; i < 20; ++i) {
      const auto p = draw_problem(draw, variant);
      SCOPED_TRACE(NameOf(variant) + ", case " + std::to_string(i));
      compute(variant, p, 1);
      const std::vector<char> expected = p.destination->bytes();
      for (const int threads : {2, 3, 7}) {
        compute(variant, p, threads);
        EXPECT_EQ(p.destination->bytes(), expected) << threads << " threads";
      }
    }
  }
}

// The sum may be what the destination holds. `compute_into(destination, variant, problem, threads)` fills the given
// memory; `results_of(problem, memory)` reads the results in it.
template <class Variant, class DrawProblem, class ComputeInto, class ResultsOf>
void ExpectToAddToDestination(const std::vector<Variant>& variants, DrawProblem draw_problem, ComputeInto compute_into,
                              ResultsOf results_of) {
  for (const Variant& variant : variants) {
    Draw draw(10);
    for (int i = 0; i < 20; ++i) {
      auto p = draw_problem(draw, variant);
      p.has_sum = true;
      p.job.destination = p.job.sum;
      p.destination = p.sum->Another();
      compute_into(*p.destination, variant, p, 2);
      compute_into(*p.sum, variant, p, 2);
      EXPECT_EQ(results_of(p, *p.sum), results_of(p, *p.destination)) << NameOf(variant);
    }
  }
}

// ---- results in rows of `out_channels` elements, so many as the problem has rows() ----

// Up to the last element of the last row, of rows that are `pixel` apart.
template <class Problem>
std::int64_t ElementsInRows(const Problem& p, std::int64_t pixel) {
  return (p.rows() - 1) * pixel + p.job.out_channels;
}

// What memory like that of the sum holds.
template <class Problem>
std::vector<float> SumsIn(const Problem& p, const Elements& elements) {
  std::vector<float> values;
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    for (std::int64_t c = 0; c < p.job.out_channels; ++c) values.push_back(elements.Get(row * p.job.sum.pixel + c));
  }
  return values;
}

// The largest error of all results, beside values of about 1. `expected(problem, row, channel)` defines them.
template <class Problem, class Expected>
double LargestError(const Problem& p, Expected expected) {
  double worst = 0;
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    for (std::int64_t out = 0; out < p.job.out_channels; ++out) {
      const double right = expected(p, row, out), actual = p.destination->Get(row * p.job.destination.pixel + out);
      worst = std::max(worst, std::abs(actual - right) / (1 + std::abs(right)));
    }
  }
  return worst;
}

// What lies beside a slice is as it was.
template <class Problem>
void ExpectOnlyRowsWritten(const Problem& p) {
  for (std::int64_t row = 0; row + 1 < p.rows(); ++row) {
    for (std::int64_t c = p.job.out_channels; c < p.job.destination.pixel; ++c) {
      ASSERT_EQ(p.destination->Get(row * p.job.destination.pixel + c), Elements::kUntouched);
    }
  }
}

}  // namespace amp::kernels::testing
