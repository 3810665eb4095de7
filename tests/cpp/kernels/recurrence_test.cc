#include "kernels/rnn/recurrence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/float_arrays.h"
#include "kernels/guarded.h"
#include "kernels/tables_that_run.h"

namespace amp::kernels {
namespace {

using testing::FloatsOfSeed;

// Tables that this CPU can run.
std::vector<const RecurrenceTable*> RecurrenceTables() { return testing::TablesThatRun<RecurrenceTable>(); }

void CheckProduct(const RecurrenceTable& table, std::int64_t rows, std::int64_t size, bool has_start) {
  SCOPED_TRACE(::testing::Message() << IsaName(table.isa) << " " << rows << " rows of " << size);
  const std::int64_t a_row = size + 1, y_row = kPanel + 3;
  const Guarded<float> a(FloatsOfSeed(std::max<std::int64_t>(1, rows * a_row) - 1, 1));  // nothing behind the last row
  const Guarded<float> panel(FloatsOfSeed(size * kPanel, 2)), start(FloatsOfSeed(kPanel, 3));
  const Guarded<float> y(std::vector<float>(static_cast<std::size_t>((rows - 1) * y_row + kPanel), -7));
  table.product({a.data(), a_row, rows, size, panel.data(), has_start ? start.data() : nullptr, y.data(), y_row});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < (r + 1 < rows ? y_row : kPanel); ++c) {
      double sum = c >= kPanel ? -7 : has_start ? start.data()[c] : 0;  // nothing is written between rows
      for (std::int64_t k = 0; k < size && c < kPanel; ++k) {
        sum += static_cast<double>(a.data()[r * a_row + k]) * panel.data()[k * kPanel + c];
      }
      ASSERT_NEAR(y.data()[r * y_row + c], sum, 1e-6 * static_cast<double>(size + 1)) << r << ", " << c;
    }
  }
}

TEST(Recurrence, ProductsOfAllShapes) {
  for (const RecurrenceTable* table : RecurrenceTables()) {
    for (std::int64_t rows = 1; rows < 30; ++rows) {
      for (const std::int64_t size : {0, 1, 2, 3, 4, 5, 37}) CheckProduct(*table, rows, size, (rows + size) % 2 == 0);
    }
  }
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Gates {
  std::vector<float> x, h;
  double at(std::int64_t gate, std::int64_t unit) const {
    const auto i = static_cast<std::size_t>(gate * kPanel + unit);
    return static_cast<double>(x[i]) + static_cast<double>(h[i]);
  }
};

// {state, cell}
std::pair<double, double> DefineCell(const PanelStep& job, const Gates& g, double cell, std::int64_t unit) {
  switch (job.cell) {
    case RecurrentCell::kRelu:
      return {std::max(g.at(0, unit), 0.0), cell};
    case RecurrentCell::kTanh:
      return {std::tanh(g.at(0, unit)), cell};
    case RecurrentCell::kLstm: {
      const double sum = Sigmoid(g.at(1, unit)) * cell + Sigmoid(g.at(0, unit)) * std::tanh(g.at(2, unit));
      const double next = std::clamp<double>(sum, job.low, job.high);
      return {Sigmoid(g.at(3, unit)) * std::tanh(next), next};
    }
    case RecurrentCell::kGru:
      break;
  }
  const auto i = static_cast<std::size_t>(2 * kPanel + unit);
  const double from_state = static_cast<double>(g.h[i]) + job.new_bias[unit];
  const double fresh = std::tanh(static_cast<double>(g.x[i]) + Sigmoid(g.at(0, unit)) * from_state);
  const double update = Sigmoid(g.at(1, unit));
  return {(1 - update) * fresh + update * job.before[unit], cell};
}

TEST(Recurrence, StepsOfAllCells) {
  for (const RecurrenceTable* table : RecurrenceTables()) {
    for (const auto cell : {RecurrentCell::kRelu, RecurrentCell::kTanh, RecurrentCell::kLstm, RecurrentCell::kGru}) {
      for (const float scale : {1.0f, 30.0f, 1e30f}) {
        const std::int64_t count = NumGates(cell) * kPanel;
        const Gates gates{FloatsOfSeed(count, 5, scale), FloatsOfSeed(count, 6, scale)};
        const Guarded<float> x(gates.x), h(gates.h), before(FloatsOfSeed(kPanel, 7)), bias(FloatsOfSeed(kPanel, 8)),
            after(kPanel);
        const std::vector<float> cells_before = FloatsOfSeed(kPanel, 9, 2);
        const Guarded<float> cells(cells_before);
        const PanelStep job{cell,         x.data(),     h.data(), bias.data(), before.data(),
                            after.data(), cells.data(), -1.5f,    1.25f};
        table->step(job);
        for (std::int64_t i = 0; i < kPanel; ++i) {
          const auto [state, next] = DefineCell(job, gates, cells_before[static_cast<std::size_t>(i)], i);
          EXPECT_NEAR(after.data()[i], state, 1e-6 + 1e-6 * std::fabs(state)) << IsaName(table->isa) << " " << i;
          EXPECT_NEAR(cells.data()[i], next, 1e-6) << IsaName(table->isa) << " " << i;
        }
      }
    }
  }
}

TEST(Recurrence, NaNStaysUnlessItBecomesTheLowerBound) {
  for (const RecurrenceTable* table : RecurrenceTables()) {
    for (const bool becomes_low : {false, true}) {
      std::vector<float> x(4 * kPanel, 0), h = x, cells(kPanel, std::nanf("")), after(kPanel);
      const PanelStep job{RecurrentCell::kLstm, x.data(),     h.data(), nullptr, nullptr,
                          after.data(),         cells.data(), -1,       1,       becomes_low};
      table->step(job);
      EXPECT_EQ(std::isnan(cells[5]), !becomes_low);
      EXPECT_EQ(std::isnan(after[5]), !becomes_low);
      EXPECT_TRUE(!becomes_low || cells[5] == -1);
    }
  }
}

}  // namespace
}  // namespace amp::kernels
