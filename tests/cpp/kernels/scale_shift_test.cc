#include "kernels/elementwise/scale_shift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/base/float_bits.h"
#include "kernels/samples.h"
#include "kernels/tables_that_run.h"

namespace amp::kernels {
namespace {

using testing::kInfinity;

std::vector<const ScaleShiftTable*> ScaleShiftTables() { return testing::TablesThatRun<ScaleShiftTable>(); }

float ScaledAndShifted(float x, float scale, float shift, float low, float high) {
  const float y = std::fma(x, scale, shift);
  if (std::isnan(y)) return y;
  return std::min(std::max(y, low), high);
}

void ExpectSameNumber(float expected, float actual) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual));
  } else {
    EXPECT_EQ(expected, actual);
  }
}

// Every length around the width of a register, both dtypes on both sides, one number for all or one each; nothing is
// written behind the end.
TEST(ScaleShift, RowsOfAllLengths) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 2);
  for (const ScaleShiftTable* table : ScaleShiftTables()) {
    for (int count = 1; count < 70; ++count) {
      for (int kind = 0; kind < 8; ++kind) {
        const bool from_bf16 = kind & 1, to_bf16 = kind & 2;
        const int step = kind & 4 ? 1 : 0;
        std::vector<float> x(count), scale(count), shift(count), y(count + 1, 77.0f);
        std::vector<std::uint16_t> x16(count), y16(count + 1, 0x4299);
        for (int i = 0; i < count; ++i) {
          x16[i] = FloatToBF16(i == 3 ? std::nanf("") : normal(random));
          x[i] = BF16ToFloat(x16[i]);
          scale[i] = normal(random);
          shift[i] = normal(random);
        }
        table->row[from_bf16][to_bf16](from_bf16 ? static_cast<const void*>(x16.data()) : x.data(),
                                       to_bf16 ? static_cast<void*>(y16.data()) : y.data(), count, scale.data(),
                                       shift.data(), step, -1.5f, kInfinity);
        for (int i = 0; i < count; ++i) {
          const float expected = ScaledAndShifted(x[i], scale[i * step], shift[i * step], -1.5f, kInfinity);
          ExpectSameNumber(to_bf16 ? BF16ToFloat(FloatToBF16(expected)) : expected,
                           to_bf16 ? BF16ToFloat(y16[i]) : y[i]);
        }
        EXPECT_EQ(y[count], 77.0f);
        EXPECT_EQ(y16[count], 0x4299);
      }
    }
  }
}

// Channels last in a wider row, and planes.
TEST(ScaleShift, RowsAndPlanesLieWhereTheyShould) {
  constexpr std::int64_t kBatch = 2, kPositions = 6, kChannels = 5, kWide = 9;
  std::vector<float> x(kBatch * kPositions * kWide), scale(kChannels), shift(kChannels);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 40;
  for (int c = 0; c < kChannels; ++c) {
    scale[c] = static_cast<float>(c + 1);
    shift[c] = static_cast<float>(-c);
  }
  ScaleShift job;
  job.scale = scale.data();
  job.shift = shift.data();
  job.low = 0;
  job.high = kInfinity;
  job.batch = kBatch;
  job.rows = kPositions;
  job.channels = kChannels;
  job.x_batch = kPositions * kWide;
  job.x_row = kWide;
  job.y_batch = kPositions * kChannels;
  job.y_row = kChannels;
  std::vector<float> y(kBatch * kPositions * kChannels, -1);
  kernels::RunScaleShift(job, x.data(), y.data());
  for (std::int64_t row = 0; row < kBatch * kPositions; ++row) {
    for (std::int64_t c = 0; c < kChannels; ++c) {
      EXPECT_EQ(y[row * kChannels + c], ScaledAndShifted(x[row * kWide + c], scale[c], shift[c], 0, kInfinity));
    }
  }
  job.planes = true;
  job.blocks = kChannels;
  job.rows = 1;
  job.channels = kPositions;
  job.x_batch = job.y_batch = kChannels * kPositions;
  job.x_block = job.y_block = kPositions;
  kernels::RunScaleShift(job, x.data(), y.data());
  for (std::int64_t i = 0; i < kBatch * kChannels * kPositions; ++i) {
    const std::int64_t c = i / kPositions % kChannels;
    EXPECT_EQ(y[i], ScaledAndShifted(x[i], scale[c], shift[c], 0, kInfinity));
  }
}

}  // namespace
}  // namespace amp::kernels
