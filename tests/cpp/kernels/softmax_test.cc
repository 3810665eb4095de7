#include "kernels/reduce/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
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

// An obvious definition. Elements of line (o, i) are `inner` apart.
std::vector<double> DefineSoftmax(const Softmax& job, const std::vector<float>& x,
                                  const std::vector<std::int64_t>& lengths) {
  std::vector<double> y(x.size(), 0.0);
  for (std::int64_t line = 0; line < job.outer * job.inner; ++line) {
    const std::int64_t first = line / job.inner * job.size * job.inner + line % job.inner;
    const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(first + i * job.inner); };
    const std::int64_t used = lengths.empty() ? job.size : std::clamp<std::int64_t>(lengths[line], 0, job.size);
    double largest = -INFINITY, sum = 0;
    for (std::int64_t i = 0; i < used; ++i) largest = std::max(largest, static_cast<double>(x[at(i)]) * job.scale);
    const bool is_hidden = job.hides && largest == -INFINITY;
    if (is_hidden) largest = 0;
    for (std::int64_t i = 0; i < used; ++i) sum += std::exp(static_cast<double>(x[at(i)]) * job.scale - largest);
    for (std::int64_t i = 0; i < used; ++i) {
      const double shifted = static_cast<double>(x[at(i)]) * job.scale - largest;
      const double total = is_hidden ? 1 : sum;
      y[at(i)] = job.logarithm ? shifted - std::log(total) : std::exp(shifted) / total;
    }
  }
  return y;
}

// Sums of many powers in float32 are off by `bound`.
void ExpectPowerNear(float actual, double expected, double bound = 1e-6) {
  if (std::isnan(expected) || std::isinf(expected)) {
    EXPECT_EQ(std::isnan(actual), std::isnan(expected));
    EXPECT_TRUE(std::isnan(actual) || static_cast<double>(actual) == expected) << actual << ", " << expected;
  } else {
    EXPECT_NEAR(actual, expected, 4e-6 * std::fabs(expected) + bound);
  }
}

std::vector<float> DrawScores(Random& random, const Softmax& job) {
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> x(static_cast<std::size_t>(job.outer * job.size * job.inner));
  const auto hidden = random() % 3;  // of four
  for (float& value : x) value = job.hides && random() % 4 < hidden ? -INFINITY : normal(random);
  if (random() % 8 == 0) x[random() % x.size()] = NAN;
  if (random() % 8 == 0) x[random() % x.size()] = INFINITY;
  if (job.x_is_bf16) {
    for (float& value : x) value = BF16ToFloat(FloatToBF16(value));
  }
  return x;
}

template <class Y>
std::vector<Y> ComputeSoftmax(const Softmax& job, const std::vector<float>& x, const std::vector<std::int64_t>& lengths,
                              int threads) {
  const ThreadScope scope(threads);
  const Guarded<float> floats(x);
  const Guarded<std::uint16_t> halves(HalvesOf(x));
  const Guarded<Y> y(x.size());
  RunSoftmax(job, job.x_is_bf16 ? static_cast<const void*>(halves.data()) : floats.data(),
             lengths.empty() ? nullptr : lengths.data(), y.data());
  return y.values();
}

Softmax DrawSoftmax(Random& random) {
  Softmax job;
  job.outer = 1 + random() % 4;
  job.size = random() % 4 == 0 ? 1 + random() % 600 : 1 + random() % 30;
  job.inner = random() % 3 == 0 ? 1 : random() % 3 == 0 ? 1 + random() % 300 : 1 + random() % 20;
  job.scale = random() % 3 == 0 ? -0.5f : 1.0f;
  job.logarithm = random() % 3 == 0;
  job.hides = job.scale > 0 && random() % 3 == 0;
  job.x_is_bf16 = random() % 3 == 0;
  return job;
}

TEST(Softmax, AnyAxis) {
  Random random(17);
  for (int i = 0; i < 300; ++i) {
    Softmax job = DrawSoftmax(random);
    SCOPED_TRACE(::testing::Message() << i << ": " << job.outer << " x " << job.size << " x " << job.inner);
    const std::vector<float> x = DrawScores(random, job);
    std::vector<std::int64_t> lengths;
    if (job.inner == 1 && random() % 2 == 0) {
      for (std::int64_t o = 0; o < job.outer; ++o) lengths.push_back(static_cast<std::int64_t>(random() % 40) - 2);
    }
    const std::vector<double> expected = DefineSoftmax(job, x, lengths);
    const std::vector<float> y = ComputeSoftmax<float>(job, x, lengths, 1);
    for (std::size_t k = 0; k < y.size(); ++k)
      ExpectPowerNear(y[k], expected[k], 1e-6 + 1e-8 * static_cast<double>(job.size));
    for (const int threads : {2, 3}) {
      const std::vector<float> again = ComputeSoftmax<float>(job, x, lengths, threads);
      ASSERT_EQ(std::memcmp(y.data(), again.data(), y.size() * sizeof(float)), 0) << threads << " threads";
    }
    job.y_is_bf16 = true;
    ASSERT_EQ(ComputeSoftmax<std::uint16_t>(job, x, lengths, 2), HalvesOf(y));
    if (HasFailure()) return;
  }
}

// All instruction sets, blocks of one line and of several side by side.
TEST(Softmax, EachInstructionSet) {
  Random random(19);
  for (const SoftmaxTable* table : testing::TablesThatRun<SoftmaxTable>()) {
    for (const std::int64_t inner : {1, 3, 70}) {
      for (const std::int64_t together : {1, 4}) {
        const SoftmaxBlock block{5, inner * together, inner * together, inner * (together - 1), inner};
        Softmax job;
        job.size = 5 * together + together - 1;
        job.inner = inner;
        job.logarithm = random() % 2 == 0;
        const std::vector<float> x = DrawScores(random, job);
        const Guarded<float> from(x), to(x.size());
        table->block(job, block, from.data(), to.data());
        const std::vector<double> expected = DefineSoftmax(job, x, {});
        for (std::size_t k = 0; k < x.size(); ++k) ExpectPowerNear(to.data()[k], expected[k]);
      }
    }
  }
}

}  // namespace
}  // namespace amp::kernels
