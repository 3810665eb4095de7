#include "ops/common/distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "nnvm/error.h"
#include "ops/common/special.h"

namespace amp {
namespace {

constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 44;  // of one array; the other bits count blocks of one

double Uniform(Draws& draws, double low, double high) {
  const double x = std::lerp(low, high, draws.Fraction());
  return x == high ? std::nextafter(high, low) : x;  // by rounding
}

double Normal(Draws& draws, double mean, double deviation) { return mean + deviation * draws.Normal(); }

// An exponentially distributed number of mean 1.
double StandardExponential(Draws& draws) { return -std::log1p(-draws.Fraction()); }

double Exponential(Draws& draws, double rate, double) { return StandardExponential(draws) / rate; }

// ---- those of NumPy, by inverses of the distribution functions ----

double ScaledExponential(Draws& draws, double scale, double) { return scale * StandardExponential(draws); }

double Rayleigh(Draws& draws, double scale, double) { return scale * std::sqrt(2 * StandardExponential(draws)); }

double Weibull(Draws& draws, double shape, double) { return std::pow(StandardExponential(draws), 1 / shape); }

double Pareto(Draws& draws, double shape, double) { return std::expm1(StandardExponential(draws) / shape); }

double PowerFunction(Draws& draws, double shape, double) { return std::pow(1 - draws.Fraction(), 1 / shape); }

double Gumbel(Draws& draws, double location, double scale) {
  return location - scale * std::log(-std::log(draws.InnerFraction()));
}

double Logistic(Draws& draws, double location, double scale) {
  const double x = draws.InnerFraction();
  return location + scale * (std::log(x) - std::log1p(-x));
}

double Bernoulli(Draws& draws, double probability, double) { return draws.Fraction() < probability ? 1 : 0; }

double BernoulliOfLogit(Draws& draws, double logit, double) { return Bernoulli(draws, 1 / (1 + std::exp(-logit)), 0); }

// ---- gamma, and counts ----

// G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000: shapes from 1 on.
double GammaFromOne(Draws& draws, double shape) {
  constexpr double kTakesAll = 1e8;  // larger shapes refuse less than there are rounding errors
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draws.Normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (shape > kTakesAll || std::log1p(-draws.Fraction()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

double Gamma(Draws& draws, double shape, double scale) {
  if (!(shape > 0)) return shape == 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(shape)) return shape * scale;
  if (shape >= 1) return scale * GammaFromOne(draws, shape);
  const double power = std::exp(std::log1p(-draws.Fraction()) / shape);
  return scale * power * GammaFromOne(draws, shape + 1);
}

// Counts by the time between events, for small means.
double PoissonByEvents(Draws& draws, double mean) {
  const double end = std::exp(-mean);
  double product = 1 - draws.Fraction(), count = 0;
  for (; product > end; ++count) product *= 1 - draws.Fraction();
  return count;
}

// W. Hoermann, "The transformed rejection method for generating Poisson random variables", 1993: means from 10 on.
double PoissonByRejection(Draws& draws, double mean) {
  const double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accepted = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = draws.Fraction() - 0.5, v = 1 - draws.Fraction(), distance = 0.5 - std::abs(u);
    const double count = std::floor((2 * a / distance + b) * u + mean + 0.43);
    if (distance >= 0.07 && v <= accepted) return count;
    if (!(count >= 0) || (distance < 0.013 && v > distance)) continue;
    const double bound = count * std::log(mean) - mean - LogGamma(count + 1);
    if (std::log(v * inverse_alpha / (a / (distance * distance) + b)) <= bound) return count;
  }
}

double Poisson(Draws& draws, double mean, double) {
  constexpr double kIsNormal = 1e9;  // the distribution of larger means differs by less than its rounding errors
  if (!(mean > 0)) return std::isnan(mean) ? mean : 0;
  if (mean < 10) return PoissonByEvents(draws, mean);
  if (mean < kIsNormal) return PoissonByRejection(draws, mean);
  return std::isinf(mean) ? mean : std::floor(mean + std::sqrt(mean) * draws.Normal());
}

double NegativeBinomial(Draws& draws, double limit, double probability) {
  return Poisson(draws, Gamma(draws, limit, std::max(0.0, (1 - probability) / probability)), 0);
}

double GeneralizedNegativeBinomial(Draws& draws, double mean, double dispersion) {
  const double shape = 1 / dispersion;
  return Poisson(draws, std::isinf(shape) ? mean : Gamma(draws, shape, dispersion * mean), 0);
}

}  // namespace

std::uint64_t Draws::Bits() {
  if (left_ == 0) {
    block_ = stream_.Block(next_);
    next_ += kMaxElements;
    left_ = block_.size();
  }
  left_ -= 2;
  return std::uint64_t{block_[left_]} << 32 | block_[left_ + 1];
}

double Draws::Normal() {
  const double radius = std::sqrt(-2 * std::log1p(-Fraction()));
  return radius * std::cos(2 * std::numbers::pi * Fraction());
}

const std::vector<Distribution>& Distributions() {
  static const std::vector<Distribution> kAll{
      {"uniform", 2, true, Uniform},
      {"normal", 2, false, Normal},
      {"gamma", 2, false, Gamma},
      {"exponential", 1, false, Exponential},
      {"poisson", 1, false, Poisson},
      {"negative_binomial", 2, false, NegativeBinomial},
      {"generalized_negative_binomial", 2, false, GeneralizedNegativeBinomial},
      {"scaled_exponential", 1, false, ScaledExponential},
      {"rayleigh", 1, false, Rayleigh},
      {"weibull", 1, false, Weibull},
      {"pareto", 1, false, Pareto},
      {"power_function", 1, false, PowerFunction},
      {"gumbel", 2, false, Gumbel},
      {"logistic", 2, false, Logistic},
      {"bernoulli", 1, false, Bernoulli, true},
      {"bernoulli_of_logit", 1, false, BernoulliOfLogit, true},
  };
  return kAll;
}

std::vector<std::string> DistributionNames() {
  std::vector<std::string> names;
  for (const Distribution& distribution : Distributions()) names.push_back(distribution.name);
  return names;
}

const Distribution& RequireDistribution(const std::string& name) {
  for (const Distribution& distribution : Distributions()) {
    if (distribution.name == name) return distribution;
  }
  Throw<InternalError>("there is no distribution {}", name);
}

std::int64_t DrawInteger(Draws& draws, std::int64_t low, std::int64_t high) {
  const auto count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  // Numbers behind the last multiple of `count` would make some results more likely than others.
  const std::uint64_t behind = -count % count;
  std::uint64_t bits = draws.Bits();
  while (bits > std::numeric_limits<std::uint64_t>::max() - behind) bits = draws.Bits();
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + bits % count);
}

}  // namespace amp
