#include "kernels/recurrence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace amp::kernels {
namespace {

// Tables that this CPU can run.
std::vector<const RecurrenceTable*> Tables() {
  std::vector<const RecurrenceTable*> tables{RecurrenceTableGeneric()};
  if (CpuIsa() >= Isa::kAvx512 && RecurrenceTableAvx512() != nullptr) tables.push_back(RecurrenceTableAvx512());
  return tables;
}

std::vector<float> Drawn(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(seed >> 8) * 0x1p-23f - 1);
  }
  return values;
}

void CheckProducts(const RecurrenceTable& table, RowProducts job) {
  SCOPED_TRACE(::testing::Message() << IsaName(table.isa) << " " << job.rows << "x" << job.columns << "x" << job.size);
  job.a_row = job.size + 1;
  job.b_row = job.size + 2;
  job.y_row = job.columns + 3;
  const std::vector<float> a = Drawn(job.rows * job.a_row, 1), b = Drawn(job.columns * job.b_row, 2);
  std::vector<float> y(static_cast<std::size_t>(job.rows * job.y_row), -7);
  job.a = a.data();
  job.b = b.data();
  job.y = y.data();
  table.products(job);
  for (std::int64_t r = 0; r < job.rows; ++r) {
    for (std::int64_t c = 0; c < job.y_row; ++c) {
      double sum = c < job.columns ? 0 : -7;  // nothing is written between rows
      for (std::int64_t k = 0; k < job.size && c < job.columns; ++k) {
        sum += static_cast<double>(a[r * job.a_row + k]) * b[c * job.b_row + k];
      }
      ASSERT_NEAR(y[r * job.y_row + c], sum, 1e-6 * static_cast<double>(job.size + 1)) << r << ", " << c;
    }
  }
}

TEST(Recurrence, ProductsOfAllShapes) {
  for (const RecurrenceTable* table : Tables()) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 9}) {
      for (const std::int64_t columns : {1, 3, 4, 15, 16, 17, 33}) {
        for (const std::int64_t size : {0, 1, 15, 16, 17, 40}) {
          RowProducts job;
          job.rows = rows;
          job.columns = columns;
          job.size = size;
          CheckProducts(*table, job);
        }
      }
    }
  }
}

// Blocks of rows and columns are no part of the result.
TEST(Recurrence, AProductDoesNotDependOnItsNeighbours) {
  constexpr std::int64_t kSize = 37, kRows = 7, kColumns = 19;
  const std::vector<float> a = Drawn(kRows * kSize, 3), b = Drawn(kColumns * kSize, 4);
  for (const RecurrenceTable* table : Tables()) {
    std::vector<float> together(kRows * kColumns);
    table->products({a.data(), b.data(), together.data(), kRows, kColumns, kSize, kSize, kSize, kColumns});
    for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
      float alone = 0;
      table->products(
          {a.data() + i / kColumns * kSize, b.data() + i % kColumns * kSize, &alone, 1, 1, kSize, kSize, kSize, 1});
      EXPECT_EQ(alone, together[static_cast<std::size_t>(i)]) << IsaName(table->isa) << " " << i;
    }
  }
}

TEST(Recurrence, SigmoidAndTanh) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> xs{0, -0.0f, 1e-30f, 88, -88, 1e30f, -1e30f, kInfinity, -kInfinity, std::nanf("")};
  for (float x = -20; x < 20; x += 0.0037f) xs.push_back(x);
  for (const RecurrenceTable* table : Tables()) {
    std::vector<float> sigmoid = xs, tanh = xs;
    table->sigmoid(sigmoid.data(), static_cast<std::int64_t>(xs.size()));
    table->tanh(tanh.data(), static_cast<std::int64_t>(xs.size()));
    for (std::size_t i = 0; i < xs.size(); ++i) {
      if (std::isnan(xs[i])) {
        EXPECT_TRUE(std::isnan(sigmoid[i]) && std::isnan(tanh[i]));
        continue;
      }
      EXPECT_NEAR(sigmoid[i], 1 / (1 + std::exp(-static_cast<double>(xs[i]))), 0x1p-22) << xs[i];
      EXPECT_NEAR(tanh[i], std::tanh(static_cast<double>(xs[i])), 0x1p-22) << xs[i];
    }
  }
}

}  // namespace
}  // namespace amp::kernels
