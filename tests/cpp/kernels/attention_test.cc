#include "kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attention_problem.h"
#include "float_arrays.h"
#include "tables_that_run.h"

namespace amp::kernels {
namespace {

using namespace testing;

struct Computed {
  std::vector<float> out, lse, largest, sum, sums;
};

bool SameResults(const Computed& a, const Computed& b) {
  return SameBits(a.out, b.out) && SameBits(a.lse, b.lse) && SameBits(a.largest, b.largest) && SameBits(a.sum, b.sum) &&
         SameBits(a.sums, b.sums);
}

// `parts`: the keys in so many calls, each of which continues where the one before stopped.
Computed ComputeAttention(const AttentionTable& table, const AttentionProblem& p, int num_threads,
                          const std::vector<std::int64_t>& ends = {}) {
  Attention job = p.job;
  job.num_threads = num_threads;
  const auto count = [&](const HeadRows& rows, std::int64_t size) {
    return static_cast<std::size_t>(p.NumQueries(rows, size));
  };
  const OperandMemory queries(p.queries, job.is_bf16), keys(p.keys, job.is_bf16), values(p.values, job.is_bf16);
  const OperandMemory out(count(job.out, job.value_size), -7, job.out_is_bf16);
  const OperandMemory sums(count(job.sums, job.value_size), -7, false), lse(count(job.statistics, 1), -7, false);
  const OperandMemory largest(count(job.statistics, 1), -7, false), sum(count(job.statistics, 1), -7, false);
  const Guarded<std::int32_t> lengths(p.lengths);
  const Guarded<std::uint8_t> mask(p.mask);
  AttentionData data{queries.data(), keys.data(), values.data()};
  data.lengths = p.lengths.empty() ? nullptr : lengths.data();
  data.mask = p.mask.empty() ? nullptr : mask.data();
  data.out = out.data();
  data.lse = lse.floats();
  data.largest = largest.floats();
  data.sum = sum.floats();
  data.sums = sums.floats();
  const auto run = [&](std::int64_t first, std::int64_t end) {
    const std::int64_t element = job.is_bf16 ? 2 : 4;
    AttentionData part = data;
    part.keys = static_cast<const char*>(data.keys) + first * job.keys.row * element;
    part.values = static_cast<const char*>(data.values) + first * job.values.row * element;
    if (part.mask != nullptr) part.mask += first;
    job.num_keys = end - first;
    job.row_offset = p.job.row_offset - first;
    const Guarded<char> scratch(AttentionScratchBytes(job));
    RunAttentionWith(table, job, part, scratch.data());
    job.continues = true;
  };
  std::int64_t first = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> calls;
  for (const std::int64_t end : ends) calls.emplace_back(std::exchange(first, end), end);
  calls.emplace_back(first, job.num_keys);
  if (job.last_key_first) std::reverse(calls.begin(), calls.end());
  for (const auto& [begin, end] : calls) run(begin, end);
  return {out.values(), lse.values(), largest.values(), sum.values(), sums.values()};
}

struct BoundedResults {
  std::vector<double> values, errors;
};

// The truth in float64, and how far float32 sums may be from it; -7 where nothing is to be written.
class AttentionOracle {
 public:
  explicit AttentionOracle(const AttentionProblem& p) : p_(p), job_(p.job) {}

  BoundedResults Run(bool rounds_weights) {
    const auto size = static_cast<std::size_t>(p_.NumQueries(job_.out, job_.value_size));
    const auto rows = static_cast<std::size_t>(p_.NumQueries(job_.statistics, 1));
    result_ = {std::vector<double>(size, -7), std::vector<double>(size, 0)};
    lse_ = {std::vector<double>(rows, -7), std::vector<double>(rows, 0)};
    rounding_ = rounds_weights ? 1.0 / 128 : 0;
    for (std::int64_t b = 0; b < job_.num_batch; ++b) {
      for (std::int64_t h = 0; h < job_.num_heads; ++h) {
        for (std::int64_t r = 0; r < job_.num_queries; ++r) Query(b, h, r);
      }
    }
    return result_;
  }
  const BoundedResults& lse() const { return lse_; }

 private:
  void Query(std::int64_t b, std::int64_t h, std::int64_t r) {
    constexpr double kUnit = 1.0 / (1 << 24);
    const std::int64_t kv = h / p_.group();
    std::vector<double> scores(static_cast<std::size_t>(job_.num_keys), -kInfinity);
    double largest = -kInfinity, error = 0, sum = 0;
    for (std::int64_t k = 0; k < job_.num_keys; ++k) {
      double score = 0, magnitude = 0;
      for (std::int64_t i = 0; i < job_.size; ++i) {
        const double term = static_cast<double>(p_.queries.numbers[PlaceOf(job_.queries, b, h, r) + i]) *
                            static_cast<double>(p_.keys.numbers[PlaceOf(job_.keys, b, kv, k) + i]);
        score += term * static_cast<double>(job_.scale);
        magnitude += std::abs(term * static_cast<double>(job_.scale));
      }
      if (!p_.Sees(b, h, r, k)) continue;
      scores[k] = score;
      largest = std::max(largest, score);
      error = std::max(error, magnitude * static_cast<double>(job_.size + 4) * kUnit);
    }
    for (const double score : scores) sum += largest == -kInfinity ? 0 : std::exp(score - largest);
    const double relative = 2 * error + static_cast<double>(2 * job_.num_keys + 64) * kUnit + rounding_;
    const auto row = static_cast<std::size_t>(PlaceOf(job_.statistics, b, h, r));
    lse_.values[row] = largest + (sum == 0 ? 0 : std::log(sum));
    lse_.errors[row] = relative - rounding_ + kUnit * std::abs(lse_.values[row]);
    for (std::int64_t i = 0; i < job_.value_size; ++i) {
      double y = 0, magnitude = 0;
      for (std::int64_t k = 0; k < job_.num_keys && sum > 0; ++k) {
        const double term = std::exp(scores[k] - largest) / sum *
                            static_cast<double>(p_.values.numbers[PlaceOf(job_.values, b, kv, k) + i]);
        y += term;
        magnitude += std::abs(term);
      }
      const std::size_t at = static_cast<std::size_t>(PlaceOf(job_.out, b, h, r) + i);
      result_.values[at] = y;
      result_.errors[at] = relative * magnitude + (job_.out_is_bf16 ? std::abs(y) / 128 : 0) + 1e-38;
    }
  }

  const AttentionProblem& p_;
  const Attention& job_;
  BoundedResults result_, lse_;
  double rounding_ = 0;
};

std::vector<const AttentionTable*> AttentionTables(const Attention& job) {
  return TablesThatRun<AttentionTable>(AttentionTable::Avx512BF16, job.is_bf16 && job.p_is_bf16 && CpuHasBF16());
}

std::string TableName(const AttentionTable& table) {
  return std::string(IsaName(table.isa)) + (table.has_bf16_arithmetic ? " with bf16" : "");
}

void ExpectWithinErrors(const std::vector<float>& actual, const BoundedResults& truth, const std::string& what) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (static_cast<double>(actual[i]) == truth.values[i]) continue;  // infinities
    ASSERT_NEAR(static_cast<double>(actual[i]), truth.values[i], truth.errors[i]) << what << ", element " << i;
  }
}

TEST(Attention, IsWithinBoundsOfTheTruth) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Draw draw(seed);
    const AttentionProblem p = DrawAttention(draw, draw.Chance(0.5));
    for (const AttentionTable* table : AttentionTables(p.job)) {
      const Computed y = ComputeAttention(*table, p, 1);
      AttentionOracle oracle(p);
      const std::string what = TableName(*table) + ", seed " + std::to_string(seed);
      ExpectWithinErrors(y.out, oracle.Run(p.job.p_is_bf16), what);
      ExpectWithinErrors(y.lse, oracle.lse(), what + ", lse");
    }
  }
}

TEST(Attention, DoesNotDependOnTheNumberOfThreads) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Draw draw(1000 + seed);
    const AttentionProblem p = DrawAttention(draw, draw.Chance(0.5));
    for (const AttentionTable* table : AttentionTables(p.job)) {
      const Computed alone = ComputeAttention(*table, p, 1);
      for (const int num_threads : {2, 3, 5}) {
        ASSERT_TRUE(SameResults(alone, ComputeAttention(*table, p, num_threads)))
            << TableName(*table) << ", seed " << seed << ", " << num_threads << " threads";
      }
    }
  }
}

// Keys in several calls, each of whole blocks but for the last keys, in the order of one call.
TEST(Attention, TheStateCarriesOnBitForBit) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Draw draw(2000 + seed);
    AttentionProblem p = DrawAttention(draw, draw.Chance(0.5));
    p.lengths.clear();  // they count from the first key of a call
    if (p.job.key_block == 0) p.job.key_block = 64;
    std::vector<std::int64_t> ends;
    for (std::int64_t end = 0; end < p.job.num_keys; end += p.job.key_block) {
      if (end > 0 && draw.Chance(0.4)) ends.push_back(end);
    }
    for (const AttentionTable* table : AttentionTables(p.job)) {
      ASSERT_TRUE(SameResults(ComputeAttention(*table, p, 1), ComputeAttention(*table, p, 1, ends)))
          << TableName(*table) << ", seed " << seed;
    }
  }
}

// One head, one query, all scores 0 but for what a test says.
AttentionProblem SimpleProblem(bool is_bf16, std::int64_t num_keys) {
  AttentionProblem p;
  p.job.is_bf16 = is_bf16;
  p.job.num_queries = p.job.size = p.job.value_size = 1;
  p.job.num_keys = num_keys;
  p.job.p_is_bf16 = is_bf16;
  p.job.queries = p.job.keys = p.job.values = p.job.out = p.job.sums = p.job.statistics = {0, 0, 1};
  const auto count = static_cast<std::size_t>(num_keys);
  p.queries = {{1}, {FloatToBF16(1)}};
  p.keys = {std::vector<float>(count, 0), std::vector<std::uint16_t>(count, 0)};
  p.values = {std::vector<float>(count, 1), std::vector<std::uint16_t>(count, FloatToBF16(1))};
  return p;
}

void ExpectOnAllTables(const AttentionProblem& p, float expected) {
  for (const AttentionTable* table : AttentionTables(p.job)) {
    const float y = ComputeAttention(*table, p, 1).out[0];
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(y)) << TableName(*table) << " gave " << y;
    } else {
      EXPECT_NEAR(y, expected, 4e-3F * std::abs(expected)) << TableName(*table);
    }
  }
}

TEST(Attention, AwkwardNumbers) {
  for (const bool is_bf16 : {false, true}) {
    AttentionProblem p = SimpleProblem(is_bf16, 600);  // more than a block of keys
    ExpectOnAllTables(p, 1);
    p.keys.Set(599, 200);  // everything before it vanishes
    p.values.Set(599, 3);
    ExpectOnAllTables(p, 3);
    p.keys.Set(0, -kInfinity);
    ExpectOnAllTables(p, 3);
    p.keys.Set(0, kNaN);
    ExpectOnAllTables(p, kNaN);
    p.keys.Set(0, kInfinity);
    ExpectOnAllTables(p, kNaN);
    // A key that is not seen does not matter, nor does its value.
    p = SimpleProblem(is_bf16, 600);
    p.keys.Set(20, kNaN);
    p.values.Set(20, kNaN);
    p.lengths = {20};
    p.job.seen = {0, 0, 1};
    ExpectOnAllTables(p, 1);
    p.lengths = {0};
    ExpectOnAllTables(p, 0);
    p.lengths = {-5};
    ExpectOnAllTables(p, 0);
    p = SimpleProblem(is_bf16, 3);
    for (std::size_t i = 0; i < 3; ++i) p.keys.Set(i, -kInfinity);
    ExpectOnAllTables(p, kNaN);
    p.mask = {1, 1, 1};
    ExpectOnAllTables(p, 0);
  }
}

TEST(Attention, WholeBlocksOfHiddenKeysChangeNothing) {
  for (const bool is_bf16 : {false, true}) {
    AttentionProblem p = SimpleProblem(is_bf16, 1600);
    p.mask.assign(1600, 0);
    p.mask[1500] = 1;
    p.values.Set(1500, 5);
    ExpectOnAllTables(p, 5);
    p.mask[1500] = 0;
    p.mask[2] = 1;
    p.values.Set(2, 4);
    ExpectOnAllTables(p, 4);
  }
}

}  // namespace
}  // namespace amp::kernels
