// What tests of our products share: the code that runs here, operands of either dtype, random numbers, and what holds
// for all products.
//
// A Problem has a `job`, a `source`, a `sum` and a `destination`, and says whether it has_sum.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "guarded.h"
#include "kernels/cpu.h"
#include "kernels/float_bits.h"
#include "kernels/pointwise.h"

namespace amp::kernels::testing {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What this CPU runs of the code for: any CPU, AVX2, AVX-512, and AVX-512 with more, such as bfloat16.
template <class Table>
std::vector<const Table*> TablesThatRun(const Table* (*generic)(), const Table* (*avx2)(), const Table* (*avx512)(),
                                        const Table* (*more)(), bool has_more = CpuHasBF16()) {
  std::vector<const Table*> tables{generic()};
  if (CpuIsa() >= Isa::kAvx2) tables.push_back(avx2());
  if (CpuIsa() >= Isa::kAvx512) tables.push_back(avx512());
  if (CpuIsa() >= Isa::kAvx512 && has_more) tables.push_back(more());
  std::erase(tables, nullptr);  // of instruction sets that this build has no code for
  return tables;
}

// Code that multiplies numbers of one type.
template <class Table>
struct ProductVariant {
  const Table* table;
  Multiplies multiplies;
  bool strassen = false;

  typename Table::Run run() const { return table->run[static_cast<std::size_t>(multiplies)]; }
  bool is_int16() const { return multiplies == Multiplies::kInt16; }
};

template <class Table>
std::string NameOf(const ProductVariant<Table>& v) {
  constexpr const char* kNames[] = {" float32", " bfloat16", " int16"};
  return std::string(IsaName(v.table->isa)) + kNames[static_cast<std::size_t>(v.multiplies)] +
         (v.strassen ? " by Strassen" : "");
}

template <class Table>
std::vector<ProductVariant<Table>> VariantsOf(const std::vector<const Table*>& tables) {
  std::vector<ProductVariant<Table>> variants;
  for (const Table* table : tables) {
    for (std::size_t i = 0; i < std::size(table->run); ++i) {
      if (table->run[i] != nullptr) variants.push_back({table, static_cast<Multiplies>(i)});
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

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  std::int64_t Int(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(engine_) < p; }
  float Real() { return std::normal_distribution<float>(0, 1)(engine_); }
  std::vector<float> Reals(std::int64_t count, double scale) {
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& x : numbers) x = static_cast<float>(scale) * Real();
    return numbers;
  }

 private:
  std::mt19937 engine_;
};

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

}  // namespace amp::kernels::testing
