// Samplers against the distribution functions that they promise, with fixed seeds: a right one passes always.
#include "ops/common/distributions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <set>

#include "nnvm/error.h"

namespace amp {
namespace {

constexpr std::int64_t kCount = 1 << 18;
// The distance between the shares of kCount numbers and of the distribution that one of a million right ones exceeds.
const double kFarthest = 2.69 / std::sqrt(static_cast<double>(kCount));

const kernels::RandomStream kStream(20240, 3, 77);

std::vector<double> Drawn(const std::string& name, double first, double second) {
  const Distribution& distribution = RequireDistribution(name);
  std::vector<double> drawn;
  for (std::int64_t i = 0; i < kCount; ++i) {
    Draws draws(kStream, i);
    drawn.push_back(distribution.draw(draws, first, second));
  }
  return drawn;
}

using Share = std::function<double(double x)>;  // of numbers up to x

// The distance of the Kolmogorov-Smirnov test. Equal numbers are compared once, behind the last of them.
double Distance(std::vector<double> drawn, const Share& share, bool counts) {
  std::sort(drawn.begin(), drawn.end());
  const auto size = static_cast<double>(drawn.size());
  double distance = 0;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const double expected = share(drawn[i]);
    if (!counts) distance = std::max(distance, std::abs(expected - static_cast<double>(i) / size));
    if (i + 1 < drawn.size() && drawn[i + 1] == drawn[i]) continue;
    distance = std::max(distance, std::abs(expected - static_cast<double>(i + 1) / size));
  }
  return distance;
}

// The share of numbers up to x of a gamma distribution of scale 1, by its power series.
double GammaShare(double shape, double x) {
  if (x <= 0) return 0;
  double term = 1 / shape, sum = term;
  for (int i = 1; term > sum * 1e-16; ++i) sum += term *= x / (shape + i);
  return std::min(1.0, std::exp(shape * std::log(x) - x - std::lgamma(shape)) * sum);
}

// The share of counts up to x, from the logarithms of their probabilities.
Share OfCounts(const std::function<double(double)>& log_probability) {
  std::vector<double> shares;
  double sum = 0;
  for (int count = 0; count < 3000; ++count) shares.push_back(sum += std::exp(log_probability(count)));
  return [shares](double x) { return shares.at(static_cast<std::size_t>(x)); };
}

Share PoissonShare(double mean) {
  return OfCounts([=](double n) { return n * std::log(mean) - mean - std::lgamma(n + 1); });
}

Share NegativeBinomialShare(double limit, double probability) {
  return OfCounts([=](double n) {
    return std::lgamma(n + limit) - std::lgamma(n + 1) - std::lgamma(limit) + limit * std::log(probability) +
           n * std::log1p(-probability);
  });
}

struct Sample {
  const char* distribution;
  double first, second;
  Share share;
  bool counts = false;
};

std::vector<Sample> Samples() {
  std::vector<Sample> samples{
      {"uniform", -1, 3, [](double x) { return (x + 1) / 4; }},
      {"normal", 2, 5, [](double x) { return 0.5 * std::erfc((2 - x) / (5 * std::numbers::sqrt2)); }},
      {"exponential", 4, 0, [](double x) { return -std::expm1(-4 * x); }},
      {"scaled_exponential", 4, 0, [](double x) { return -std::expm1(-x / 4); }},
      {"rayleigh", 3, 0, [](double x) { return -std::expm1(-x * x / 18); }},
      {"pareto", 3, 0, [](double x) { return 1 - std::pow(1 + x, -3); }},
      {"gumbel", 2, 5, [](double x) { return std::exp(-std::exp((2 - x) / 5)); }},
      {"logistic", 2, 5, [](double x) { return 1 / (1 + std::exp((2 - x) / 5)); }},
      {"bernoulli", 0.3, 0, [](double x) { return x < 1 ? 0.7 : 1; }, true},
      {"bernoulli_of_logit", -1, 0, [](double x) { return x < 1 ? 1 / (1 + std::exp(-1)) : 1; }, true},
  };
  for (const double shape : {0.4, 3.0}) {
    samples.push_back({"weibull", shape, 0, [=](double x) { return -std::expm1(-std::pow(x, shape)); }});
    samples.push_back({"power_function", shape, 0, [=](double x) { return std::pow(x, shape); }});
  }
  for (const double shape : {0.3, 1.0, 2.5, 60.0}) {
    samples.push_back({"gamma", shape, 3, [=](double x) { return GammaShare(shape, x / 3); }});
  }
  for (const double mean : {0.2, 4.0, 9.99, 10.0, 300.0}) {
    samples.push_back({"poisson", mean, 0, PoissonShare(mean), true});
  }
  samples.push_back({"negative_binomial", 3, 0.4, NegativeBinomialShare(3, 0.4), true});
  samples.push_back({"generalized_negative_binomial", 6, 0.5, NegativeBinomialShare(2, 1 / (1 + 6 * 0.5)), true});
  samples.push_back({"generalized_negative_binomial", 6, 0, PoissonShare(6), true});
  return samples;
}

TEST(Distributions, HaveTheirShares) {
  std::set<std::string> seen;
  for (const Sample& sample : Samples()) {
    seen.insert(sample.distribution);
    const double distance =
        Distance(Drawn(sample.distribution, sample.first, sample.second), sample.share, sample.counts);
    EXPECT_LT(distance, kFarthest) << sample.distribution << " " << sample.first << " " << sample.second;
    EXPECT_GT(distance, 0) << sample.distribution;
  }
  EXPECT_EQ(seen.size(), Distributions().size());
}

// The test above sees a distribution that is off by a hundredth.
TEST(Distributions, SimilarOnesAreToldApart) {
  EXPECT_GT(Distance(Drawn("poisson", 300, 0), PoissonShare(303), true), kFarthest);
  EXPECT_GT(Distance(
                Drawn("gamma", 2.5, 1), [](double x) { return GammaShare(2.525, x); }, false),
            kFarthest);
}

TEST(Distributions, LargeMeansAreNormal) {
  for (const char* name : {"poisson", "gamma"}) {
    const double mean = 4e9;
    const auto share = [=](double x) { return 0.5 * std::erfc((mean - x) / std::sqrt(2 * mean)); };
    EXPECT_LT(Distance(Drawn(name, mean, 1), share, false), kFarthest) << name;
  }
}

TEST(Distributions, ElementsAreIndependent) {
  const std::vector<double> x = Drawn("uniform", 0, 1);
  for (const std::int64_t lag : {1, 2, 7}) {
    double product = 0;
    for (std::int64_t i = lag; i < kCount; ++i) {
      product += (x[static_cast<std::size_t>(i)] - 0.5) * (x[static_cast<std::size_t>(i - lag)] - 0.5);
    }
    EXPECT_LT(std::abs(product) * 12 / std::sqrt(static_cast<double>(kCount)), 4) << lag;
  }
}

TEST(Distributions, UniformNumbersStayBelowTheEnd) {
  Draws draws(kStream, 0);
  const auto draw = RequireDistribution("uniform").draw;
  const double next = std::nextafter(1.0, 2.0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(draw(draws, 1, next), 1);
    EXPECT_EQ(draw(draws, 5, 5), 5);
    EXPECT_TRUE(std::isfinite(draw(draws, -1e308, 1e308)));
  }
}

TEST(Distributions, EndForAllParameters) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double numbers[] = {0, -0.0, 1, -1, 0.5, 1e-320, 1e-10, 1e10, 1e300, -1e300, kInfinity, -kInfinity, NAN};
  for (const Distribution& distribution : Distributions()) {
    for (const double first : numbers) {
      for (const double second : numbers) {
        for (std::int64_t i = 0; i < 20; ++i) {
          Draws draws(kStream, i);
          distribution.draw(draws, first, second);
        }
      }
    }
  }
}

TEST(Distributions, EdgesHaveTheirLimits) {
  for (std::int64_t i = 0; i < 100; ++i) {
    Draws draws(kStream, i);
    EXPECT_EQ(RequireDistribution("poisson").draw(draws, 0, 0), 0);
    EXPECT_EQ(RequireDistribution("negative_binomial").draw(draws, 3, 1), 0);
    EXPECT_EQ(RequireDistribution("negative_binomial").draw(draws, 0, 0.5), 0);
    EXPECT_EQ(RequireDistribution("generalized_negative_binomial").draw(draws, 0, 2), 0);
    EXPECT_EQ(RequireDistribution("normal").draw(draws, 3, 0), 3);
    EXPECT_TRUE(std::isnan(RequireDistribution("gamma").draw(draws, -1, 1)));
  }
  EXPECT_THROW(RequireDistribution("cauchy"), InternalError);
}

}  // namespace
}  // namespace amp
