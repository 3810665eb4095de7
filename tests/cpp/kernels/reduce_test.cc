#include "kernels/reduce/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/base/float_bits.h"
#include "kernels/float_arrays.h"
#include "kernels/guarded.h"
#include "kernels/tables_that_run.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using testing::HalvesOf;
using Random = std::mt19937;

constexpr ReduceOp kReduceOps[] = {
    ReduceOp::kSum,     ReduceOp::kSumOfMagnitudes, ReduceOp::kSumOfSquares, ReduceOp::kNanSum,
    ReduceOp::kProduct, ReduceOp::kNanProduct,      ReduceOp::kMax,          ReduceOp::kMin};

// ---- an obvious definition ----

double StartOf(ReduceOp op) {
  if (op == ReduceOp::kProduct || op == ReduceOp::kNanProduct) return 1;
  return op == ReduceOp::kMax ? -INFINITY : op == ReduceOp::kMin ? INFINITY : 0;
}

double Accumulated(ReduceOp op, double total, double x) {
  switch (op) {
    case ReduceOp::kSum:
      return total + x;
    case ReduceOp::kSumOfMagnitudes:
      return total + std::fabs(x);
    case ReduceOp::kSumOfSquares:
      return total + x * x;
    case ReduceOp::kNanSum:
      return std::isnan(x) ? total : total + x;
    case ReduceOp::kProduct:
      return total * x;
    case ReduceOp::kNanProduct:
      return std::isnan(x) ? total : total * x;
    case ReduceOp::kMax:
      return std::isnan(total) || std::isnan(x) ? NAN : std::fmax(total, x);
    case ReduceOp::kMin:
      return std::isnan(total) || std::isnan(x) ? NAN : std::fmin(total, x);
  }
  return 0;
}

std::vector<double> DefineReduction(ReduceOp op, ReduceEpilogue finish, const std::vector<float>& x,
                                    const std::vector<ReduceAxis>& axes) {
  std::int64_t results = 1;
  for (const ReduceAxis& axis : axes) results *= axis.is_reduced ? 1 : axis.size;
  std::vector<double> totals(static_cast<std::size_t>(results), StartOf(op));
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t rest = i, to = 0, stride = 1;
    for (std::size_t a = axes.size(); a-- > 0; rest /= static_cast<std::size_t>(axes[a].size)) {
      if (axes[a].is_reduced) continue;
      to += rest % static_cast<std::size_t>(axes[a].size) * stride;
      stride *= static_cast<std::size_t>(axes[a].size);
    }
    totals[to] = Accumulated(op, totals[to], static_cast<double>(x[i]));
  }
  for (double& total : totals) {
    if (finish == ReduceEpilogue::kMean) total /= static_cast<double>(x.size()) / static_cast<double>(results);
    if (finish == ReduceEpilogue::kRoot) total = std::sqrt(total);
  }
  return totals;
}

// Near 1, so that long products stay finite; now and then no number.
std::vector<float> DrawNearOne(Random& random, std::size_t count, bool has_nan) {
  std::uniform_real_distribution<float> near_one(0.9f, 1.1f);
  std::vector<float> values(count);
  for (float& value : values) {
    value = near_one(random) * (random() % 2 == 0 ? 1.0f : -1.0f);
    if (has_nan && random() % 50 == 0) value = NAN;
  }
  return values;
}

// In double, but rounded once to the result; sums may cancel.
void ExpectReducedNear(double actual, double expected, double terms, double unit) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual));
  } else if (actual != expected) {
    EXPECT_NEAR(actual, expected, unit * std::fabs(expected) + 1e-15 * terms);
  }
}

// ---- loops of each instruction set ----

std::vector<const ReduceTable*> ReduceTables() { return testing::TablesThatRun<ReduceTable>(); }

void CheckLoops(const ReduceTable& table, ReduceOp op, std::int64_t rows, std::int64_t width, Random& random) {
  SCOPED_TRACE(::testing::Message() << IsaName(table.isa) << " operation " << static_cast<int>(op) << ", " << rows
                                    << " rows of " << width);
  const ReduceLoops loops = table.loops(op, false);
  const auto count = static_cast<std::size_t>(rows * width);
  const Guarded<float> x(DrawNearOne(random, count, random() % 2 == 0));
  const Guarded<double> tile(std::vector<double>(static_cast<std::size_t>(width), loops.start));
  loops.columns(x.data(), width, rows, width, tile.data());
  const std::vector<double> columns =
      DefineReduction(op, ReduceEpilogue::kNone, x.values(), {{rows, true}, {width, false}});
  for (std::size_t i = 0; i < columns.size(); ++i) ExpectReducedNear(tile.data()[i], columns[i], rows, 1e-13);
  double total = loops.start, joined = loops.start;
  loops.run(x.data(), rows * width, &total);
  for (const double column : columns) loops.join(&column, 1, &joined);
  ExpectReducedNear(total, joined, static_cast<double>(count), 1e-13);
}

TEST(Reduce, LoopsAreTheirDefinitions) {
  Random random(3);
  for (const ReduceTable* table : ReduceTables()) {
    for (const ReduceOp op : kReduceOps) {
      for (const std::int64_t rows : {1, 2, 3, 4, 5, 9}) {
        for (const std::int64_t width : {1, 2, 3, 7, 8, 9, 17, 40}) CheckLoops(*table, op, rows, width, random);
      }
    }
  }
}

// ---- axes, dtypes and threads ----

struct Reduction {
  ReduceOp op = ReduceOp::kSum;
  ReduceEpilogue finish = ReduceEpilogue::kNone;
  std::vector<ReduceAxis> axes;
  std::int64_t count = 1, results = 1;
};

Reduction DrawReduction(Random& random) {
  Reduction c;
  c.op = kReduceOps[random() % std::size(kReduceOps)];
  if (c.op == ReduceOp::kSum) c.finish = random() % 2 == 0 ? ReduceEpilogue::kMean : ReduceEpilogue::kNone;
  if (c.op == ReduceOp::kSumOfSquares) c.finish = ReduceEpilogue::kRoot;
  c.axes.resize(random() % 6);
  for (ReduceAxis& axis : c.axes) {
    axis.size = c.count > 20000 ? 1 : random() % 5 == 0 ? 1 + random() % 700 : 1 + random() % 7;
    axis.is_reduced = random() % 2 == 0;
    c.count *= axis.size;
    if (!axis.is_reduced) c.results *= axis.size;
  }
  return c;
}

template <class T>
std::vector<T> ComputeReduction(const Reduce& reduce, int threads, const void* x, std::int64_t results) {
  const ThreadScope scope(threads);
  const Guarded<T> y(static_cast<std::size_t>(results));
  const Guarded<char> scratch(reduce.ScratchBytes());
  reduce.Run(x, y.data(), scratch.data());
  return y.values();
}

void CheckReduction(const Reduction& c, Random& random) {
  std::vector<float> values = DrawNearOne(random, static_cast<std::size_t>(c.count), random() % 4 == 0);
  const bool is_bf16 = random() % 3 == 0;
  if (is_bf16) {
    for (float& value : values) value = BF16ToFloat(FloatToBF16(value));
  }
  const Guarded<float> x(values);
  const Guarded<std::uint16_t> x_bf16(HalvesOf(values));
  const void* data = is_bf16 ? static_cast<const void*>(x_bf16.data()) : x.data();
  const ElementType in = is_bf16 ? ElementType::kBFloat16 : ElementType::kFloat32;
  const Reduce reduce(c.op, c.finish, in, ElementType::kFloat32, c.axes);
  const std::vector<float> y = ComputeReduction<float>(reduce, 1, data, c.results);
  const std::vector<double> expected = DefineReduction(c.op, c.finish, values, c.axes);
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectReducedNear(y[i], expected[i], c.count, 6.1e-8)) << i;
  }
  for (const int threads : {2, 3}) {
    const std::vector<float> again = ComputeReduction<float>(reduce, threads, data, c.results);
    ASSERT_EQ(std::memcmp(y.data(), again.data(), y.size() * sizeof(float)), 0) << threads << " threads";
  }
  const Reduce rounds(c.op, c.finish, in, ElementType::kBFloat16, c.axes);
  ASSERT_EQ(ComputeReduction<std::uint16_t>(rounds, 2, data, c.results), HalvesOf(y));
}

TEST(Reduce, AnyAxes) {
  Random random(11);
  for (int i = 0; i < 300; ++i) {
    const Reduction c = DrawReduction(random);
    ::testing::Message axes;
    for (const ReduceAxis& axis : c.axes) axes << axis.size << (axis.is_reduced ? "r " : " ");
    SCOPED_TRACE(::testing::Message() << i << ": operation " << static_cast<int>(c.op) << " over " << axes);
    ASSERT_NO_FATAL_FAILURE(CheckReduction(c, random));
    if (HasFailure()) return;
  }
}

// One result of very many elements is shared out, too.
TEST(Reduce, PartsOfOneResult) {
  Random random(5);
  for (const std::vector<ReduceAxis>& axes : {std::vector<ReduceAxis>{{300000, true}},
                                              {{100000, true}, {3, false}},
                                              {{1000, true}, {2, false}, {150, true}},
                                              {{700, true}, {600, false}}}) {
    Reduction c{ReduceOp::kSum, ReduceEpilogue::kMean, axes};
    for (const ReduceAxis& axis : axes) {
      c.count *= axis.size;
      if (!axis.is_reduced) c.results *= axis.size;
    }
    ASSERT_NO_FATAL_FAILURE(CheckReduction(c, random));
  }
}

}  // namespace
}  // namespace amp::kernels
