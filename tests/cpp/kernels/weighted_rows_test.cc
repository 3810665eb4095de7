#include "kernels/movement/weighted_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/float_arrays.h"
#include "kernels/guarded.h"
#include "kernels/tables_that_run.h"

namespace amp::kernels {
namespace {

using testing::NormalFloats;

std::vector<const WeightedRowsTable*> WeightedRowsTables() { return testing::TablesThatRun<WeightedRowsTable>(); }

TEST(WeightedRows, SumsOfAllLengths) {
  std::mt19937 random(3);
  for (std::int64_t length = 1; length < 150; ++length) {
    const std::int64_t count = static_cast<std::int64_t>(random() % 5);
    const bool adds = random() % 2 == 0;
    const std::vector<float> weights = NormalFloats(random, count), before = NormalFloats(random, length);
    const Guarded<float> x(NormalFloats(random, length + 7));
    std::vector<std::int64_t> offsets;
    for (std::int64_t k = 0; k < count; ++k) offsets.push_back(static_cast<std::int64_t>(random() % 8));
    std::vector<float> expected;
    for (std::int64_t i = 0; i < length; ++i) {
      expected.push_back(adds ? before[i] : 0);
      for (std::int64_t k = 0; k < count; ++k) expected.back() += weights[k] * x.data()[offsets[k] + i];
    }
    for (const WeightedRowsTable* table : WeightedRowsTables()) {
      const Guarded<float> y(before);
      table->sum(x.data(), offsets.data(), weights.data(), count, adds, y.data(), length);
      ASSERT_EQ(y.values(), expected) << IsaName(table->isa) << " length " << length;
    }
  }
}

TEST(WeightedRows, InterpolationOfAllLengths) {
  std::mt19937 random(4);
  for (std::int64_t length = 1; length < 70; ++length) {
    const Guarded<float> x(NormalFloats(random, 11)), weights(NormalFloats(random, length));
    const Guarded<std::int32_t> first(static_cast<std::size_t>(length)), second(static_cast<std::size_t>(length));
    std::vector<float> expected;
    for (std::int64_t i = 0; i < length; ++i) {
      first.data()[i] = static_cast<std::int32_t>(random() % 11);
      second.data()[i] = static_cast<std::int32_t>(random() % 11);
      const float weight = weights.data()[i];
      expected.push_back((1 - weight) * x.data()[first.data()[i]] + weight * x.data()[second.data()[i]]);
    }
    for (const WeightedRowsTable* table : WeightedRowsTables()) {
      const Guarded<float> y(static_cast<std::size_t>(length));
      table->interpolate(x.data(), first.data(), second.data(), weights.data(), y.data(), length);
      ASSERT_EQ(y.values(), expected) << IsaName(table->isa) << " length " << length;
    }
  }
}

}  // namespace
}  // namespace amp::kernels
