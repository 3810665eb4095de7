// Sums, products and extremes over any axes of row-major arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/cpu.h"
#include "kernels/elementwise/cast.h"

namespace amp::kernels {

// Accumulated in double. Extremes are NaN where an element is.
enum class ReduceOp : std::uint8_t {
  kSum,
  kSumOfMagnitudes,
  kSumOfSquares,
  kNanSum,  // NaN counts as 0
  kProduct,
  kNanProduct,  // NaN counts as 1
  kMax,
  kMin,
};

// What is made of an accumulated number, before it is rounded once.
enum class ReduceEpilogue : std::uint8_t { kNone, kMean, kRoot };

struct ReduceAxis {
  std::int64_t size = 1;
  bool is_reduced = false;
};

// Loops over memory for one operation and type of elements. A stride is in elements.
struct ReduceLoops {
  double start = 0;  // the total of nothing
  // Adds `rows` rows of `width` elements to as many accumulators.
  void (*columns)(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t width, double* tile);
  // Adds `count` elements to one.
  void (*run)(const void* x, std::int64_t count, double* total);
  // Adds `count` totals of some elements to those of others.
  void (*join)(const double* parts, std::int64_t count, double* totals);
};

class Reduce {
 public:
  // No size is 0. Types: see IsType.
  Reduce(ReduceOp op, ReduceEpilogue finish, ElementType in, ElementType out, const std::vector<ReduceAxis>& axes);

  std::size_t ScratchBytes() const;
  // Splits the work among the threads of the scope (ParallelFor), in parts that depend on sizes only: the result does
  // not depend on the number of threads. Allocates nothing.
  void Run(const void* x, void* y, void* scratch) const;

  // float32 and bfloat16.
  static bool IsType(ElementType type);

 private:
  static constexpr std::size_t kMaxGroups = 32;
  static constexpr std::int64_t kTile = 512;   // results that are accumulated side by side
  static constexpr std::int64_t kNarrow = 64;  // elements: a row of so many is worth loops of its own

  // Neighbouring axes that are reduced together, or kept together.
  struct Group {
    std::int64_t size = 1, stride = 1;
  };
  // Some groups, outermost first.
  struct Groups {
    std::size_t count = 0;
    Group group[kMaxGroups];

    void Add(const Group& next) { group[count++] = next; }
    std::int64_t Size() const;
    // Where the element of this index among them begins.
    std::int64_t OffsetOf(std::int64_t index) const;
  };

  void SetGroups(const std::vector<ReduceAxis>& axes);
  void SetParts();
  // What one thread does at a time: a part of the elements of the results [first, first + width), which lie side by
  // side.
  struct Item {
    std::int64_t outer, column, width, part, first;
  };
  std::int64_t BytesOfElement() const { return is_bf16_ ? 2 : 4; }
  Item ItemOf(std::int64_t index) const;
  void AddItem(const Item& item, const void* x, double* totals) const;
  void AddRows(const void* x, std::int64_t rows, std::int64_t width, double* totals) const;
  void AddNarrowRows(const void* x, std::int64_t rows, double* totals) const;
  void StoreResults(const double* totals, std::int64_t first, std::int64_t width, void* y) const;
  void JoinParts(double* parts, void* y) const;

  ReduceLoops loops_;
  ReduceEpilogue finish_;
  bool is_bf16_, gives_bf16_;
  std::int64_t count_ = 1;    // elements of each result
  Groups kept_, reduced_;     // but for the innermost ones:
  std::int64_t rows_ = 1;     // reduced; columns_ elements apart
  std::int64_t columns_ = 1;  // kept, side by side
  std::int64_t tiles_ = 1;    // of columns
  std::int64_t parts_ = 1;    // of the elements of each result
};

struct ReduceTable {
  Isa isa;
  ReduceLoops (*loops)(ReduceOp op, bool is_bf16);

  static const ReduceTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
