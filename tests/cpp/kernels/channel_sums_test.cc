#include "kernels/reduce/channel_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/base/float_bits.h"
#include "kernels/guarded.h"
#include "kernels/tables_that_run.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using Random = std::mt19937;

std::vector<const ChannelSumsTable*> ChannelSumsTables() { return testing::TablesThatRun<ChannelSumsTable>(); }

// Numbers that bfloat16 holds, so that both forms mean the same.
struct Numbers {
  Guarded<float> floats;
  Guarded<std::uint16_t> halves;

  Numbers(Random& random, std::int64_t count, float mean)
      : floats(static_cast<std::size_t>(count)), halves(static_cast<std::size_t>(count)) {
    std::normal_distribution<float> normal(mean, 1);
    for (std::size_t i = 0; i < floats.size(); ++i) {
      halves.data()[i] = FloatToBF16(normal(random));
      floats.data()[i] = BF16ToFloat(halves.data()[i]);
    }
  }
  const void* data(bool is_bf16) const { return is_bf16 ? static_cast<const void*>(halves.data()) : floats.data(); }
};

struct Totals {
  double first = 0, second = 0, magnitude = 0;

  void Add(SumsOf what, double g, double x, double shift) {
    const double a = what == SumsOf::kSquares ? x - shift : g, b = a * (x - shift);
    first += a;
    second += b;
    magnitude += std::fabs(a) + std::fabs(b);
  }
};

void ExpectTotalsNear(const Totals& expected, SumsOf what, double first, double second) {
  const double bound = 2e-6 * expected.magnitude + 1e-6;
  EXPECT_NEAR(first, expected.first, bound);
  if (what != SumsOf::kGradient) {
    EXPECT_NEAR(second, expected.second, bound);
  }
}

// Every width around that of registers, rows in wider ones.
TEST(ChannelSums, RowsOfEachInstructionSet) {
  Random random(1);
  for (std::int64_t channels = 1; channels < 140; channels += 1 + channels / 20) {
    const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 90), g_row = channels + 3, x_row = channels;
    const Numbers g(random, (rows - 1) * g_row + channels, 0), x(random, rows * x_row, 3);
    const Numbers shift(random, channels, 3);
    for (const ChannelSumsTable* table : ChannelSumsTables()) {
      for (const SumsOf what : {SumsOf::kGradient, SumsOf::kSquares, SumsOf::kProducts}) {
        for (const bool is_bf16 : {false, true}) {
          const Guarded<float> first(channels), second(channels);
          table->rows[static_cast<int>(what)][is_bf16](g.data(is_bf16), g_row, x.data(is_bf16), x_row, rows, channels,
                                                       shift.floats.data(), first.data(), second.data());
          for (std::int64_t c = 0; c < channels; ++c) {
            Totals expected;
            for (std::int64_t r = 0; r < rows; ++r) {
              expected.Add(what, g.floats.data()[r * g_row + c], x.floats.data()[r * x_row + c],
                           shift.floats.data()[c]);
            }
            ExpectTotalsNear(expected, what, first.data()[c], second.data()[c]);
          }
          ASSERT_FALSE(HasFailure()) << IsaName(table->isa) << ", " << channels << " channels, " << rows << " rows";
        }
      }
    }
  }
}

TEST(ChannelSums, PlanesOfEachInstructionSet) {
  Random random(2);
  for (std::int64_t count = 1; count < 300; count += 1 + count / 16) {
    const Numbers g(random, count, 0), x(random, count, -2);
    for (const ChannelSumsTable* table : ChannelSumsTables()) {
      for (const SumsOf what : {SumsOf::kGradient, SumsOf::kSquares, SumsOf::kProducts}) {
        for (const bool is_bf16 : {false, true}) {
          float first = 0, second = 0;
          table->plane[static_cast<int>(what)][is_bf16](g.data(is_bf16), x.data(is_bf16), count, -1.5f, &first,
                                                        &second);
          Totals expected;
          for (std::int64_t i = 0; i < count; ++i) expected.Add(what, g.floats.data()[i], x.floats.data()[i], -1.5);
          ExpectTotalsNear(expected, what, first, second);
          ASSERT_FALSE(HasFailure()) << IsaName(table->isa) << ", " << count << " elements";
        }
      }
    }
  }
}

struct Found {
  std::vector<double> first, second;
};

Found ComputeChannelSums(const ChannelSums& job, const Numbers& g, const Numbers& x, const std::vector<float>& shift,
                         int threads) {
  const ThreadScope scope(threads);
  const auto channels = static_cast<std::size_t>(job.num_channels());
  Found found{std::vector<double>(channels), std::vector<double>(channels)};
  const Guarded<double> scratch((ChannelSumsScratchBytes(job) + sizeof(double) - 1) / sizeof(double));
  RunChannelSums(job, g.data(job.is_bf16), x.data(job.is_bf16), shift.data(), found.first.data(), found.second.data(),
                 scratch.data());
  return found;
}

// A tensor (n, blocks, rows, channels) or (n, channels, plane) with gaps; any number of threads gives the same bits.
TEST(ChannelSums, AnyLayout) {
  Random random(3);
  const auto upto = [&](std::uint32_t n) { return 1 + static_cast<std::int64_t>(random() % n); };
  for (int i = 0; i < 120; ++i) {
    ChannelSums job;
    job.what = static_cast<SumsOf>(random() % 3);
    job.is_bf16 = random() % 2 == 0;
    job.planes = random() % 3 == 0;
    job.batch = upto(4);
    job.blocks = job.planes ? upto(9) : random() % 2 == 0 ? 1 : upto(3);
    job.rows = job.planes ? 1 : upto(random() % 8 == 0 ? 5000 : 60);
    job.channels = job.planes ? upto(random() % 8 == 0 ? 70000 : 100) : upto(60);
    const std::int64_t gap = static_cast<std::int64_t>(random() % 2) * 3;
    job.g_row = job.channels;
    job.x_row = job.channels + gap;
    job.g_block = job.rows * job.g_row;
    job.x_block = job.rows * job.x_row;
    job.g_batch = job.blocks * job.g_block + gap;
    job.x_batch = job.blocks * job.x_block;
    const Numbers g(random, job.batch * job.g_batch, 0), x(random, job.batch * job.x_batch, 1);
    std::vector<float> shift(static_cast<std::size_t>(job.num_channels()), 0.75f);
    const Found found = ComputeChannelSums(job, g, x, shift, 1);
    std::vector<Totals> expected(shift.size());
    for (std::int64_t n = 0; n < job.batch; ++n) {
      for (std::int64_t b = 0; b < job.blocks; ++b) {
        for (std::int64_t r = 0; r < job.rows; ++r) {
          for (std::int64_t c = 0; c < job.channels; ++c) {
            expected[static_cast<std::size_t>(job.planes ? b : b * job.channels + c)].Add(
                job.what, g.floats.data()[n * job.g_batch + b * job.g_block + r * job.g_row + c],
                x.floats.data()[n * job.x_batch + b * job.x_block + r * job.x_row + c], 0.75);
          }
        }
      }
    }
    for (std::size_t c = 0; c < expected.size(); ++c)
      ExpectTotalsNear(expected[c], job.what, found.first[c], found.second[c]);
    for (const int threads : {2, 3}) {
      const Found again = ComputeChannelSums(job, g, x, shift, threads);
      ASSERT_EQ(found.first, again.first);
      ASSERT_EQ(found.second, again.second);
    }
    ASSERT_FALSE(HasFailure()) << "case " << i;
  }
}

}  // namespace
}  // namespace amp::kernels
