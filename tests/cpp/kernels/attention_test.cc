#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/float_bits.h"

namespace amp::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Memory of one operand, in its own dtype and in float32.
struct Operand {
  std::vector<float> numbers;
  std::vector<std::uint16_t> halves;

  const void* data(bool is_bf16) const { return is_bf16 ? static_cast<const void*>(halves.data()) : numbers.data(); }
  void Set(std::size_t i, float x) {
    halves[i] = FloatToBF16(x);
    numbers[i] = x;
  }
  // What either kind of kernel reads.
  void RoundToHalves() {
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = BF16ToFloat(halves[i]);
  }
};

struct Problem {
  Attention job;
  Operand queries, keys, values;
  std::vector<std::int32_t> lengths;
  std::vector<std::uint8_t> mask;
};

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  std::int64_t Int(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(engine_) < p; }
  float Real() { return std::normal_distribution<float>(0, 1)(engine_); }

  Operand Numbers(std::int64_t count, bool is_bf16) {
    Operand operand{std::vector<float>(static_cast<std::size_t>(count)),
                    std::vector<std::uint16_t>(static_cast<std::size_t>(count))};
    for (std::size_t i = 0; i < operand.numbers.size(); ++i) operand.Set(i, Real());
    if (is_bf16) operand.RoundToHalves();
    return operand;
  }

 private:
  std::mt19937 engine_;
};

// Rows of `size` elements with gaps, the three axes in any order; `*count` becomes the size of the memory.
HeadRows DrawRows(Draw& draw, const Attention& job, std::int64_t rows, std::int64_t size, std::int64_t* count) {
  HeadRows strides;
  std::vector<std::pair<std::int64_t, std::int64_t*>> axes{
      {job.num_batch, &strides.batch}, {job.num_heads, &strides.head}, {rows, &strides.row}};
  std::rotate(axes.begin(), axes.begin() + draw.Int(0, 2), axes.end());
  std::int64_t stride = size + draw.Int(0, 3);
  for (const auto& [length, to] : axes) {
    *to = stride;
    stride *= std::max<std::int64_t>(1, length);
  }
  *count = stride;
  return strides;
}

Problem DrawProblem(Draw& draw, bool is_bf16) {
  Problem p;
  Attention& job = p.job;
  job.is_bf16 = is_bf16;
  job.out_is_bf16 = draw.Chance(0.5);
  job.num_batch = draw.Int(1, 3);
  job.num_heads = draw.Int(1, 3);
  job.num_queries = draw.Chance(0.2) ? draw.Int(1, 400) : draw.Int(1, 20);
  job.num_keys = draw.Chance(0.2) ? draw.Int(0, 1200) : draw.Int(0, 140);
  job.size = draw.Int(1, 100);
  job.value_size = draw.Int(1, 100);
  job.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(job.size)));
  std::int64_t count = 0;
  job.queries = DrawRows(draw, job, job.num_queries, job.size, &count);
  p.queries = draw.Numbers(count, is_bf16);
  job.keys = DrawRows(draw, job, job.num_keys, job.size, &count);
  p.keys = draw.Numbers(count, is_bf16);
  job.values = DrawRows(draw, job, job.num_keys, job.value_size, &count);
  p.values = draw.Numbers(count, is_bf16);
  job.out = DrawRows(draw, job, job.num_queries, job.value_size, &count);
  const std::int64_t masking = draw.Int(0, 2);
  if (masking == 1) {
    job.seen = {job.num_heads * job.num_queries, job.num_queries, 1};
    p.lengths.resize(static_cast<std::size_t>(job.num_batch * job.seen.batch));
    for (auto& length : p.lengths) length = static_cast<std::int32_t>(draw.Int(-1, job.num_keys + 2));
  } else if (masking == 2) {
    job.seen = {draw.Chance(0.5) ? job.num_queries * job.num_keys : 0, 0, job.num_keys};
    p.mask.resize(static_cast<std::size_t>(job.num_batch * job.num_queries * job.num_keys));
    for (auto& shown : p.mask) shown = draw.Chance(0.6) ? static_cast<std::uint8_t>(draw.Int(1, 255)) : 0;
    // Some query sees nothing.
    std::fill_n(p.mask.begin(), std::min<std::int64_t>(job.num_keys, static_cast<std::int64_t>(p.mask.size())), 0);
  }
  return p;
}

std::size_t OutSize(const Attention& job) {
  return static_cast<std::size_t>((job.num_batch - 1) * job.out.batch + (job.num_heads - 1) * job.out.head +
                                  (job.num_queries - 1) * job.out.row + job.value_size);
}

std::vector<float> Compute(const AttentionTable& table, const Problem& p, int num_threads) {
  Attention job = p.job;
  job.num_threads = num_threads;
  std::vector<char> scratch(AttentionScratchBytes(job));
  const std::size_t size = OutSize(job);
  std::vector<float> out(size, -7);
  std::vector<std::uint16_t> halves(size, FloatToBF16(-7));
  AttentionData data{p.queries.data(job.is_bf16), p.keys.data(job.is_bf16), p.values.data(job.is_bf16)};
  data.lengths = p.lengths.empty() ? nullptr : p.lengths.data();
  data.mask = p.mask.empty() ? nullptr : p.mask.data();
  data.out = job.out_is_bf16 ? static_cast<void*>(halves.data()) : out.data();
  RunAttentionWith(table, job, data, scratch.data());
  if (job.out_is_bf16) std::transform(halves.begin(), halves.end(), out.begin(), BF16ToFloat);
  return out;
}

std::int64_t At(const HeadRows& rows, std::int64_t b, std::int64_t h, std::int64_t r) {
  return b * rows.batch + h * rows.head + r * rows.row;
}

struct Bounded {
  std::vector<double> values, errors;
};

// The truth in float64, and how far float32 sums may be from it; -7 where nothing is to be written.
class Oracle {
 public:
  explicit Oracle(const Problem& p) : p_(p), job_(p.job) {}

  Bounded Run(bool rounds_weights) {
    result_ = {std::vector<double>(OutSize(job_), -7), std::vector<double>(OutSize(job_), 0)};
    rounding_ = rounds_weights ? 1.0 / 128 : 0;
    for (std::int64_t b = 0; b < job_.num_batch; ++b) {
      for (std::int64_t h = 0; h < job_.num_heads; ++h) {
        for (std::int64_t r = 0; r < job_.num_queries; ++r) Query(b, h, r);
      }
    }
    return result_;
  }

 private:
  bool Sees(std::int64_t b, std::int64_t h, std::int64_t r, std::int64_t k) const {
    if (!p_.lengths.empty()) return k < p_.lengths[static_cast<std::size_t>(At(job_.seen, b, h, r))];
    return p_.mask.empty() || p_.mask[static_cast<std::size_t>(At(job_.seen, b, h, r) + k)] != 0;
  }

  void Query(std::int64_t b, std::int64_t h, std::int64_t r) {
    constexpr double kUnit = 1.0 / (1 << 24);
    std::vector<double> scores(static_cast<std::size_t>(job_.num_keys), -kInfinity);
    double largest = -kInfinity, error = 0, sum = 0;
    for (std::int64_t k = 0; k < job_.num_keys; ++k) {
      double score = 0, magnitude = 0;
      for (std::int64_t i = 0; i < job_.size; ++i) {
        const double term = static_cast<double>(p_.queries.numbers[At(job_.queries, b, h, r) + i]) *
                            static_cast<double>(p_.keys.numbers[At(job_.keys, b, h, k) + i]);
        score += term * static_cast<double>(job_.scale);
        magnitude += std::abs(term * static_cast<double>(job_.scale));
      }
      if (!Sees(b, h, r, k)) continue;
      scores[k] = score;
      largest = std::max(largest, score);
      error = std::max(error, magnitude * static_cast<double>(job_.size + 4) * kUnit);
    }
    for (const double score : scores) sum += largest == -kInfinity ? 0 : std::exp(score - largest);
    const double relative = 2 * error + static_cast<double>(2 * job_.num_keys + 64) * kUnit + rounding_;
    for (std::int64_t i = 0; i < job_.value_size; ++i) {
      double y = 0, magnitude = 0;
      for (std::int64_t k = 0; k < job_.num_keys && sum > 0; ++k) {
        const double term =
            std::exp(scores[k] - largest) / sum * static_cast<double>(p_.values.numbers[At(job_.values, b, h, k) + i]);
        y += term;
        magnitude += std::abs(term);
      }
      const std::size_t at = static_cast<std::size_t>(At(job_.out, b, h, r) + i);
      result_.values[at] = y;
      result_.errors[at] = relative * magnitude + (job_.out_is_bf16 ? std::abs(y) / 128 : 0) + 1e-38;
    }
  }

  const Problem& p_;
  const Attention& job_;
  Bounded result_;
  double rounding_ = 0;
};

std::vector<const AttentionTable*> Tables(bool is_bf16) {
  std::vector<const AttentionTable*> tables{AttentionTableGeneric()};
  if (CpuIsa() >= Isa::kAvx2 && AttentionTableAvx2()) tables.push_back(AttentionTableAvx2());
  if (CpuIsa() >= Isa::kAvx512 && AttentionTableAvx512()) tables.push_back(AttentionTableAvx512());
  const bool has_bf16 = is_bf16 && CpuIsa() >= Isa::kAvx512 && CpuHasBF16();
  if (has_bf16 && AttentionTableAvx512BF16()) tables.push_back(AttentionTableAvx512BF16());
  return tables;
}

std::string Name(const AttentionTable& table) {
  return std::string(IsaName(table.isa)) + (table.has_bf16_arithmetic ? " with bf16" : "");
}

TEST(Attention, IsWithinBoundsOfTheTruth) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    Draw draw(seed);
    const bool is_bf16 = draw.Chance(0.5);
    const Problem p = DrawProblem(draw, is_bf16);
    for (const AttentionTable* table : Tables(is_bf16)) {
      const std::vector<float> y = Compute(*table, p, 1);
      const Bounded truth = Oracle(p).Run(table->has_bf16_arithmetic);
      for (std::size_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(y[i]), truth.values[i], truth.errors[i])
            << Name(*table) << ", seed " << seed << ", element " << i;
      }
    }
  }
}

TEST(Attention, DoesNotDependOnTheNumberOfThreads) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Draw draw(1000 + seed);
    const bool is_bf16 = draw.Chance(0.5);
    const Problem p = DrawProblem(draw, is_bf16);
    for (const AttentionTable* table : Tables(is_bf16)) {
      const std::vector<float> alone = Compute(*table, p, 1);
      for (const int num_threads : {2, 3, 5}) {
        const std::vector<float> together = Compute(*table, p, num_threads);
        ASSERT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)), 0)
            << Name(*table) << ", seed " << seed << ", " << num_threads << " threads";
      }
    }
  }
}

// One head, one query, all scores 0 but for what a test says.
Problem Simple(bool is_bf16, std::int64_t num_keys) {
  Problem p;
  p.job.is_bf16 = is_bf16;
  p.job.num_queries = p.job.size = p.job.value_size = 1;
  p.job.num_keys = num_keys;
  p.job.queries = p.job.keys = p.job.values = p.job.out = {0, 0, 1};
  const auto count = static_cast<std::size_t>(num_keys);
  p.queries = {{1}, {FloatToBF16(1)}};
  p.keys = {std::vector<float>(count, 0), std::vector<std::uint16_t>(count, 0)};
  p.values = {std::vector<float>(count, 1), std::vector<std::uint16_t>(count, FloatToBF16(1))};
  return p;
}

void ExpectOnAllTables(const Problem& p, float expected) {
  for (const AttentionTable* table : Tables(p.job.is_bf16)) {
    const float y = Compute(*table, p, 1)[0];
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(y)) << Name(*table) << " gave " << y;
    } else {
      EXPECT_NEAR(y, expected, 4e-3F * std::abs(expected)) << Name(*table);
    }
  }
}

TEST(Attention, AwkwardNumbers) {
  for (const bool is_bf16 : {false, true}) {
    Problem p = Simple(is_bf16, 600);  // more than a block of keys
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
    p = Simple(is_bf16, 600);
    p.keys.Set(20, kNaN);
    p.values.Set(20, kNaN);
    p.lengths = {20};
    p.job.seen = {0, 0, 1};
    ExpectOnAllTables(p, 1);
    p.lengths = {0};
    ExpectOnAllTables(p, 0);
    p.lengths = {-5};
    ExpectOnAllTables(p, 0);
    p = Simple(is_bf16, 3);
    for (std::size_t i = 0; i < 3; ++i) p.keys.Set(i, -kInfinity);
    ExpectOnAllTables(p, kNaN);
    p.mask = {1, 1, 1};
    ExpectOnAllTables(p, 0);
  }
}

TEST(Attention, WholeBlocksOfHiddenKeysChangeNothing) {
  for (const bool is_bf16 : {false, true}) {
    Problem p = Simple(is_bf16, 1600);
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
