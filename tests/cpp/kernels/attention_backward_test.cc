#include "kernels/attention/attention_backward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attention_problem.h"
#include "float_arrays.h"
#include "tables_that_run.h"

namespace amp::kernels {
namespace {

using namespace testing;

struct BackwardProblem {
  AttentionProblem forward;
  AttentionBackward job;
  Operand out, out_gradient;
  std::vector<float> lse, lse_gradient;
};

struct Gradients {
  std::vector<float> queries, keys, values;
};

std::size_t Index(std::int64_t i) { return static_cast<std::size_t>(i); }

// What the kernel of attention.h gives: out and lse are operands of the gradient.
void FindResults(BackwardProblem* p) {
  const AttentionProblem& f = p->forward;
  const OperandMemory queries(f.queries, f.job.is_bf16), keys(f.keys, f.job.is_bf16), values(f.values, f.job.is_bf16);
  AttentionData data{queries.data(), keys.data(), values.data()};
  data.lengths = f.lengths.empty() ? nullptr : f.lengths.data();
  data.mask = f.mask.empty() ? nullptr : f.mask.data();
  const OperandMemory out(Index(f.NumQueries(f.job.out, f.job.value_size)), 0, f.job.out_is_bf16);
  p->lse.assign(Index(f.NumQueries(f.job.statistics, 1)), 0);
  data.out = out.data();
  data.lse = p->lse.data();
  std::vector<char> scratch(AttentionScratchBytes(f.job));
  RunAttentionWith(*AttentionTable::Generic(), f.job, data, scratch.data());
  p->out.numbers = out.values();
  for (const float x : p->out.numbers) p->out.halves.push_back(FloatToBF16(x));
}

BackwardProblem DrawBackward(Draw& draw) {
  const bool is_bf16 = draw.Chance(0.5);
  BackwardProblem p{DrawAttention(draw, is_bf16), {}, {}, {}, {}, {}};
  const Attention& f = p.forward.job;
  p.job.out_gradient_is_bf16 = draw.Chance(0.5);
  p.job.gradients_are_bf16 = draw.Chance(0.4);
  p.job.adds = !p.job.gradients_are_bf16 && draw.Chance(0.5);
  const auto draw_rows = [&](std::int64_t heads, std::int64_t rows, std::int64_t size) {
    return DrawHeadRows(draw, f.num_batch, heads, rows, size);
  };
  p.job.out_gradient = draw_rows(f.num_heads, f.num_queries, f.value_size);
  p.job.query_gradient = draw_rows(f.num_heads, f.num_queries, f.size);
  p.job.key_gradient = draw_rows(f.num_kv_heads, f.num_keys, f.size);
  p.job.value_gradient = draw_rows(f.num_kv_heads, f.num_keys, f.value_size);
  const std::int64_t count = p.forward.NumQueries(p.job.out_gradient, f.value_size);
  p.out_gradient = DrawOperand(draw, count, p.job.out_gradient_is_bf16);
  FindResults(&p);
  if (draw.Chance(0.5)) p.lse_gradient = DrawOperand(draw, static_cast<std::int64_t>(p.lse.size()), false).numbers;
  p.job.forward = f;
  return p;
}

Gradients ComputeGradients(const AttentionBackwardTable& table, const BackwardProblem& p, int num_threads) {
  AttentionBackward job = p.job;
  job.forward.num_threads = num_threads;
  const AttentionProblem& f = p.forward;
  const bool is_bf16 = f.job.is_bf16, rounds = job.gradients_are_bf16;
  const OperandMemory queries(f.queries, is_bf16), keys(f.keys, is_bf16), values(f.values, is_bf16);
  const OperandMemory out(p.out, f.job.out_is_bf16), out_gradient(p.out_gradient, job.out_gradient_is_bf16);
  const Guarded<std::int32_t> lengths(f.lengths);
  const Guarded<std::uint8_t> mask(f.mask);
  const Guarded<float> lse(p.lse), lse_gradient(p.lse_gradient);
  const OperandMemory query_gradient(Index(f.NumQueries(job.query_gradient, f.job.size)), -7, rounds);
  const OperandMemory key_gradient(Index(f.NumKeys(job.key_gradient, f.job.size)), -7, rounds);
  const OperandMemory value_gradient(Index(f.NumKeys(job.value_gradient, f.job.value_size)), -7, rounds);
  AttentionBackwardData data;
  data.forward = {queries.data(), keys.data(), values.data()};
  data.forward.lengths = f.lengths.empty() ? nullptr : lengths.data();
  data.forward.mask = f.mask.empty() ? nullptr : mask.data();
  data.forward.out = out.data();
  data.forward.lse = lse.data();
  data.out_gradient = out_gradient.data();
  data.lse_gradient = p.lse_gradient.empty() ? nullptr : lse_gradient.data();
  data.query_gradient = query_gradient.data();
  data.key_gradient = key_gradient.data();
  data.value_gradient = value_gradient.data();
  const Guarded<char> scratch(AttentionBackwardScratchBytes(job));
  RunAttentionBackwardWith(table, job, data, scratch.data());
  return {query_gradient.values(), key_gradient.values(), value_gradient.values()};
}

struct BoundedGradient {
  std::vector<double> values, magnitudes;
  explicit BoundedGradient(std::int64_t count) : values(Index(count), 0), magnitudes(Index(count), 0) {}
  void Add(std::int64_t i, double x, double magnitude) {
    values[Index(i)] += x;
    magnitudes[Index(i)] += magnitude;
  }
};

// The truth in float64 from the same out and lse, and the sums of magnitudes that errors are proportional to.
class GradientOracle {
 public:
  explicit GradientOracle(const BackwardProblem& p)
      : queries(p.forward.NumQueries(p.job.query_gradient, p.forward.job.size)),
        keys(p.forward.NumKeys(p.job.key_gradient, p.forward.job.size)),
        values(p.forward.NumKeys(p.job.value_gradient, p.forward.job.value_size)),
        p_(p),
        f_(p.forward.job) {
    for (std::int64_t b = 0; b < f_.num_batch; ++b) {
      for (std::int64_t h = 0; h < f_.num_heads; ++h) {
        for (std::int64_t r = 0; r < f_.num_queries; ++r) AddRow(b, h, r);
      }
    }
  }

  // How far sums of float32 may be from it, relative to magnitudes.
  double error() const {
    const bool rounds = f_.p_is_bf16;
    const std::int64_t terms = f_.num_keys + f_.num_queries * p_.forward.group() + f_.size + 2 * f_.value_size + 64;
    return kUnit * static_cast<double>(terms) + (rounds ? 1.0 / 200 : 0);
  }

  BoundedGradient queries, keys, values;

 private:
  static constexpr double kUnit = 1.0 / (1 << 24);

  static double Number(const Operand& x, std::int64_t i) { return static_cast<double>(x.numbers[Index(i)]); }

  void AddRow(std::int64_t b, std::int64_t h, std::int64_t r) {
    const std::int64_t out = PlaceOf(f_.out, b, h, r), out_gradient = PlaceOf(p_.job.out_gradient, b, h, r);
    double delta = 0, magnitude = 0;
    for (std::int64_t i = 0; i < f_.value_size; ++i) {
      const double term = Number(p_.out, out + i) * Number(p_.out_gradient, out_gradient + i);
      delta += term;
      magnitude += std::abs(term);
    }
    const auto row = Index(PlaceOf(f_.statistics, b, h, r));
    if (!p_.lse_gradient.empty()) delta -= static_cast<double>(p_.lse_gradient[row]);
    if (!p_.lse_gradient.empty()) magnitude += static_cast<double>(std::abs(p_.lse_gradient[row]));
    for (std::int64_t k = 0; k < f_.num_keys; ++k) {
      if (p_.forward.Sees(b, h, r, k)) AddPair(b, h, r, k, delta, magnitude);
    }
  }

  void AddPair(std::int64_t b, std::int64_t h, std::int64_t r, std::int64_t k, double delta, double magnitude) {
    const AttentionProblem& p = p_.forward;
    const std::int64_t kv = h / p.group();
    const std::int64_t query = PlaceOf(f_.queries, b, h, r), key = PlaceOf(f_.keys, b, kv, k),
                       value = PlaceOf(f_.values, b, kv, k);
    const std::int64_t out_gradient = PlaceOf(p_.job.out_gradient, b, h, r);
    const auto scale = static_cast<double>(f_.scale),
               lse = static_cast<double>(p_.lse[Index(PlaceOf(f_.statistics, b, h, r))]);
    double score = 0, size = std::abs(lse), product = -delta;
    for (std::int64_t i = 0; i < f_.size; ++i) {
      const double term = Number(p.queries, query + i) * Number(p.keys, key + i) * scale;
      score += term;
      size += std::abs(term);
    }
    for (std::int64_t i = 0; i < f_.value_size; ++i) {
      const double term = Number(p_.out_gradient, out_gradient + i) * Number(p.values, value + i);
      product += term;
      magnitude += std::abs(term);
    }
    const double weight = std::exp(score - lse), gradient = weight * product;
    // The error of a score, in terms of the error of a sum.
    const double larger = 1 + size;
    for (std::int64_t i = 0; i < f_.size; ++i) {
      const double x = Number(p.queries, query + i) * scale, y = Number(p.keys, key + i) * scale;
      keys.Add(PlaceOf(p_.job.key_gradient, b, kv, k) + i, gradient * x, weight * magnitude * larger * std::abs(x));
      queries.Add(PlaceOf(p_.job.query_gradient, b, h, r) + i, gradient * y, weight * magnitude * larger * std::abs(y));
    }
    for (std::int64_t i = 0; i < f_.value_size; ++i) {
      const double x = Number(p_.out_gradient, out_gradient + i);
      values.Add(PlaceOf(p_.job.value_gradient, b, kv, k) + i, weight * x, weight * larger * std::abs(x));
    }
  }

  const BackwardProblem& p_;
  const Attention& f_;
};

std::vector<const AttentionBackwardTable*> BackwardTables() { return TablesThatRun<AttentionBackwardTable>(); }

// Elements between the rows keep their -7.
std::vector<bool> Written(const HeadRows& rows, std::int64_t batch, std::int64_t heads, std::int64_t count,
                          std::int64_t size) {
  std::vector<bool> written(Index(LengthOf(rows, batch, heads, count, size)), false);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t r = 0; r < count; ++r) {
        for (std::int64_t i = 0; i < size; ++i) written[Index(PlaceOf(rows, b, h, r) + i)] = true;
      }
    }
  }
  return written;
}

void ExpectGradientWithin(const BackwardProblem& p, const std::vector<float>& actual, const BoundedGradient& truth,
                          const std::vector<bool>& written, double error, const std::string& what) {
  ASSERT_EQ(actual.size(), truth.values.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!written[i]) {
      ASSERT_EQ(actual[i], -7) << what << ", element " << i;
      continue;
    }
    const double expected = truth.values[i] + (p.job.adds ? -7 : 0);
    const double rounding = p.job.gradients_are_bf16 ? std::abs(expected) / 200 : std::abs(expected) / (1 << 22);
    ASSERT_NEAR(static_cast<double>(actual[i]), expected, error * truth.magnitudes[i] + rounding + 1e-38)
        << what << ", element " << i;
  }
}

TEST(AttentionBackward, IsWithinBoundsOfTheTruth) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    Draw draw(seed);
    const BackwardProblem p = DrawBackward(draw);
    const Attention& f = p.job.forward;
    const GradientOracle truth(p);
    for (const AttentionBackwardTable* table : BackwardTables()) {
      const Gradients y = ComputeGradients(*table, p, 1);
      const std::string what = std::string(IsaName(table->isa)) + ", seed " + std::to_string(seed);
      const auto written = [&](const HeadRows& rows, std::int64_t heads, std::int64_t count, std::int64_t size) {
        return Written(rows, f.num_batch, heads, count, size);
      };
      ExpectGradientWithin(p, y.queries, truth.queries,
                           written(p.job.query_gradient, f.num_heads, f.num_queries, f.size), truth.error(),
                           what + ", queries");
      ExpectGradientWithin(p, y.keys, truth.keys, written(p.job.key_gradient, f.num_kv_heads, f.num_keys, f.size),
                           truth.error(), what + ", keys");
      ExpectGradientWithin(p, y.values, truth.values,
                           written(p.job.value_gradient, f.num_kv_heads, f.num_keys, f.value_size), truth.error(),
                           what + ", values");
    }
  }
}

TEST(AttentionBackward, DoesNotDependOnTheNumberOfThreads) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    Draw draw(1000 + seed);
    const BackwardProblem p = DrawBackward(draw);
    for (const AttentionBackwardTable* table : BackwardTables()) {
      const Gradients alone = ComputeGradients(*table, p, 1);
      for (const int num_threads : {2, 3, 5}) {
        const Gradients y = ComputeGradients(*table, p, num_threads);
        ASSERT_TRUE(SameBits(alone.queries, y.queries) && SameBits(alone.keys, y.keys) &&
                    SameBits(alone.values, y.values))
            << IsaName(table->isa) << ", seed " << seed << ", " << num_threads << " threads";
      }
    }
  }
}

}  // namespace
}  // namespace amp::kernels
