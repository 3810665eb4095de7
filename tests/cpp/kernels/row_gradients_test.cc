#include "kernels/reduce/row_gradients.h"

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

std::vector<const RowGradientsTable*> RowGradientsTables() { return testing::TablesThatRun<RowGradientsTable>(); }

// Numbers that bfloat16 holds.
std::vector<float> DrawRow(Random& random, std::int64_t count, float mean = 0) {
  std::normal_distribution<float> normal(mean, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = BF16ToFloat(FloatToBF16(normal(random)));
  return values;
}

// A row of float32 or bfloat16 numbers.
struct Row {
  Guarded<float> floats;
  Guarded<std::uint16_t> halves;

  explicit Row(const std::vector<float>& values) : floats(values), halves(HalvesOf(values)) {}
  explicit Row(std::size_t count) : floats(count), halves(count) {}
  void* data(bool is_bf16) const { return is_bf16 ? static_cast<void*>(halves.data()) : floats.data(); }
  float at(bool is_bf16, std::size_t i) const { return is_bf16 ? BF16ToFloat(halves.data()[i]) : floats.data()[i]; }
};

void ExpectGradientNear(float actual, double expected, bool is_bf16) {
  EXPECT_NEAR(actual, expected, (is_bf16 ? 0.004 : 4e-6) * std::fabs(expected) + 1e-5);
}

std::vector<double> DefineSoftmaxGradient(const SoftmaxGradient& job, const std::vector<float>& g,
                                          const std::vector<float>& y, std::int64_t used) {
  double sum = 0;
  for (std::int64_t i = 0; i < used; ++i) {
    sum += job.logarithm ? static_cast<double>(g[i]) : static_cast<double>(g[i]) * static_cast<double>(y[i]);
  }
  std::vector<double> result(g.size(), 0.0);
  for (std::int64_t i = 0; i < used; ++i) {
    const auto each = static_cast<double>(g[i]), out = static_cast<double>(y[i]);
    const double change = job.logarithm ? each - std::exp(out) * sum : out * (each - sum);
    result[static_cast<std::size_t>(i)] = change / static_cast<double>(job.temperature);
  }
  return result;
}

TEST(RowGradients, SoftmaxOfAllLengths) {
  Random random(6);
  for (std::int64_t size = 1; size < 150; ++size) {
    SoftmaxGradient job;
    job.size = size;
    job.temperature = random() % 2 == 0 ? 1 : 2;
    job.logarithm = random() % 2 == 0;
    job.is_bf16 = random() % 2 == 0;
    const std::vector<float> given = DrawRow(random, size), output = DrawRow(random, size, -1);
    const Row g(given), y(output);
    const std::vector<double> expected = DefineSoftmaxGradient(job, given, output, size);
    for (const RowGradientsTable* table : RowGradientsTables()) {
      const Row result(given.size());
      table->softmax[job.is_bf16](job, g.data(job.is_bf16), y.data(job.is_bf16), size, result.data(job.is_bf16));
      for (std::size_t i = 0; i < given.size(); ++i)
        ExpectGradientNear(result.at(job.is_bf16, i), expected[i], job.is_bf16);
      ASSERT_FALSE(HasFailure()) << IsaName(table->isa) << ", size " << size;
    }
  }
}

TEST(RowGradients, SoftmaxOfPartsOfRows) {
  Random random(7);
  SoftmaxGradient job;
  job.rows = 300;
  job.size = 37;
  const std::vector<float> g = DrawRow(random, job.rows * job.size), y = DrawRow(random, job.rows * job.size);
  std::vector<std::int64_t> lengths;
  for (std::int64_t row = 0; row < job.rows; ++row) lengths.push_back(static_cast<std::int64_t>(random() % 45) - 3);
  std::vector<float> first;
  for (const int threads : {1, 2, 3}) {
    const ThreadScope scope(threads);
    std::vector<float> result(g.size(), 77.0f);
    RunSoftmaxGradient(job, g.data(), y.data(), lengths.data(), result.data());
    for (std::int64_t row = 0; row < job.rows; ++row) {
      const auto part = [&](const std::vector<float>& all) {
        return std::vector<float>(all.begin() + row * job.size, all.begin() + (row + 1) * job.size);
      };
      const std::vector<double> expected =
          DefineSoftmaxGradient(job, part(g), part(y), std::clamp<std::int64_t>(lengths[row], 0, job.size));
      for (std::size_t i = 0; i < expected.size(); ++i) ExpectGradientNear(part(result)[i], expected[i], false);
    }
    if (first.empty()) first = result;
    ASSERT_EQ(first, result);
  }
}

struct NormGradients {
  std::vector<double> data, gamma, beta;
};

NormGradients DefineNormGradients(const LayerNormGradient& job, const std::vector<float>& g,
                                  const std::vector<float>& x, const std::vector<float>& gamma) {
  const auto size = static_cast<std::size_t>(job.size);
  NormGradients result{std::vector<double>(g.size()), std::vector<double>(size), std::vector<double>(size)};
  const auto count = static_cast<double>(job.size);
  for (std::size_t row = 0; row < g.size(); row += size) {
    double mean = 0, variance = 0, share = 0, slope = 0;
    for (std::size_t i = 0; i < size; ++i) mean += static_cast<double>(x[row + i]) / count;
    for (std::size_t i = 0; i < size; ++i) variance += std::pow(static_cast<double>(x[row + i]) - mean, 2) / count;
    const double inverse = 1 / std::sqrt(variance + static_cast<double>(job.epsilon));
    const auto normal = [&](std::size_t i) { return (static_cast<double>(x[row + i]) - mean) * inverse; };
    for (std::size_t i = 0; i < size; ++i) {
      const auto each = static_cast<double>(g[row + i]), scaled = each * static_cast<double>(gamma[i]);
      result.gamma[i] += each * normal(i);
      result.beta[i] += each;
      share += scaled / count;
      slope += scaled * normal(i) / count;
    }
    for (std::size_t i = 0; i < size; ++i) {
      const double scaled = static_cast<double>(g[row + i]) * static_cast<double>(gamma[i]);
      result.data[row + i] = inverse * (scaled - share - normal(i) * slope);
    }
  }
  return result;
}

TEST(RowGradients, LayerNormOfAllLengths) {
  Random random(8);
  for (std::int64_t size = 2; size < 150; ++size) {
    const bool is_bf16 = random() % 2 == 0;
    const LayerNormGradient job{1, size, 1e-2f, is_bf16};
    const std::vector<float> given = DrawRow(random, size), data = DrawRow(random, size, 5),
                             scales = DrawRow(random, size);
    const Row g(given), x(data);
    const Guarded<float> gamma(scales);
    const NormGradients expected = DefineNormGradients(job, given, data, scales);
    for (const RowGradientsTable* table : RowGradientsTables()) {
      const Row result(given.size());
      const Guarded<float> of_gamma(std::vector<float>(given.size(), 0.0f)),
          of_beta(std::vector<float>(given.size(), 0.0f));
      table->layer_norm[is_bf16](job, g.data(is_bf16), x.data(is_bf16), gamma.data(), result.data(is_bf16),
                                 of_gamma.data(), of_beta.data());
      for (std::size_t i = 0; i < given.size(); ++i) {
        EXPECT_NEAR(result.at(is_bf16, i), expected.data[i],
                    (is_bf16 ? 0.004 : 2e-5) * (1 + std::fabs(expected.data[i])));
        ExpectGradientNear(of_gamma.data()[i], expected.gamma[i], false);
        ExpectGradientNear(of_beta.data()[i], expected.beta[i], false);
      }
      ASSERT_FALSE(HasFailure()) << IsaName(table->isa) << ", size " << size;
    }
  }
}

TEST(RowGradients, LayerNormOfManyRows) {
  Random random(9);
  for (const std::int64_t rows : {1, 31, 32, 33, 400}) {
    const LayerNormGradient job{rows, 24, 1e-5f, false};
    const std::vector<float> g = DrawRow(random, rows * job.size), x = DrawRow(random, rows * job.size),
                             gamma = DrawRow(random, job.size);
    const NormGradients expected = DefineNormGradients(job, g, x, gamma);
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      const ThreadScope scope(threads);
      std::vector<float> result(g.size()), of_gamma(gamma.size()), of_beta(gamma.size());
      const Guarded<float> scratch(LayerNormGradientScratchBytes(job) / sizeof(float));
      RunLayerNormGradient(job, g.data(), x.data(), gamma.data(), result.data(), of_gamma.data(), of_beta.data(),
                           scratch.data());
      for (std::size_t i = 0; i < g.size(); ++i) EXPECT_NEAR(result[i], expected.data[i], 1e-4);
      for (std::size_t i = 0; i < gamma.size(); ++i) {
        EXPECT_NEAR(of_gamma[i], expected.gamma[i], 1e-3);
        EXPECT_NEAR(of_beta[i], expected.beta[i], 1e-3);
      }
      result.insert(result.end(), of_gamma.begin(), of_gamma.end());
      if (first.empty()) first = result;
      ASSERT_EQ(first, result) << rows << " rows, " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace amp::kernels
