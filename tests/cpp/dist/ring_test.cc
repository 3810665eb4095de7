// Attention on a ring: who does what in which step, and its variants. tests/python/distributed/test_distributed_ring.py
// has numbers.
#include "dist/ring.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "dist/local_comm.h"
#include "dist/ring_backward.h"
#include "dist/ring_forward.h"
#include "nnvm/error.h"

namespace amp::dist {
namespace {

using kernels::ElementType;

// Chunk of 2W that holds row `row` of a rank whose chunks have `chunk` rows.
int ChunkOf(int rank, int num_ranks, std::int64_t row, std::int64_t chunk) {
  return row < chunk ? rank : 2 * num_ranks - 1 - rank;
}

RingAttention CausalRing() {
  RingAttention ring;
  ring.causal = true;
  ring.num_queries = ring.num_keys = 6;
  return ring;
}

TEST(RingStep, EachRowMeetsEachChunkThatItSeesOnce) {
  const RingAttention ring = CausalRing();
  for (const int size : {1, 2, 3, 8}) {
    for (int rank = 0; rank < size; ++rank) {
      std::multiset<std::pair<int, int>> met;  // chunks of queries and keys
      for (int index = 0; index < size; ++index) {
        const RingStep step = RingStepOf(ring, rank, size, index);
        EXPECT_EQ(step.causal, index == 0);
        for (std::int64_t row = step.first_query; row < step.first_query + step.num_queries; row += 3) {
          for (std::int64_t key = 0; key < step.num_keys; key += 3) {
            const int of_row = ChunkOf(rank, size, row, 3), of_key = ChunkOf(step.source, size, key, 3);
            if (!step.causal || of_key <= of_row) met.insert({of_row, of_key});
            EXPECT_TRUE(step.causal || of_key < of_row);
          }
        }
      }
      std::multiset<std::pair<int, int>> expected;
      for (const int of_row : {rank, 2 * size - 1 - rank}) {
        for (int of_key = 0; of_key <= of_row; ++of_key) expected.insert({of_row, of_key});
      }
      EXPECT_EQ(met, expected) << rank << " of " << size;
    }
  }
}

TEST(RingStep, WithoutMaskAllMeetAll) {
  RingAttention ring;
  ring.num_queries = 3;
  ring.num_keys = 5;
  std::set<int> sources;
  for (int index = 0; index < 4; ++index) {
    const RingStep step = RingStepOf(ring, 1, 4, index);
    EXPECT_EQ(step.first_query, 0);
    EXPECT_EQ(step.num_queries, 3);
    EXPECT_EQ(step.num_keys, 5);
    EXPECT_FALSE(step.causal);
    sources.insert(step.source);
  }
  EXPECT_EQ(sources.size(), 4u);
}

RingAttention VariantOf(ElementType dtype, const char* accum, const char* partial, const char* merge) {
  RingAttention ring;
  ring.dtype = dtype;
  ChooseVariant(accum, partial, merge, "", &ring);
  return ring;
}

TEST(RingVariant, ArgumentsComeBeforeTheEnvironmentAndDefaults) {
  constexpr auto kLow = ElementType::kBFloat16, kWide = ElementType::kFloat32;
  const auto expect = [](const RingAttention& ring, ElementType accum, ElementType partial, RingMerge merge) {
    EXPECT_EQ(ring.accum, accum);
    EXPECT_EQ(ring.partial, partial);
    EXPECT_EQ(ring.merge, merge);
  };
  expect(VariantOf(kLow, "", "", ""), kWide, kWide, RingMerge::kState);
  expect(VariantOf(kLow, "bfloat16", "", ""), kLow, kLow, RingMerge::kLogSumExp);
  expect(VariantOf(kLow, "", "bfloat16", ""), kWide, kLow, RingMerge::kLogSumExp);
  expect(VariantOf(kLow, "", "", "lse"), kWide, kWide, RingMerge::kLogSumExp);
  setenv("AMP_CP_ACCUM", "bf16", 1);
  expect(VariantOf(kLow, "", "", ""), kLow, kLow, RingMerge::kLogSumExp);
  expect(VariantOf(kLow, "float32", "float32", "state"), kWide, kWide, RingMerge::kState);
  expect(VariantOf(kWide, "", "", ""), kWide, kWide, RingMerge::kState);
  setenv("AMP_CP_ACCUM", "fp8", 1);
  EXPECT_THROW(VariantOf(kLow, "", "", ""), ArgumentError);
  unsetenv("AMP_CP_ACCUM");
}

TEST(RingVariant, RoundsTheWeightsWhereOperandsHave16Bits) {
  RingAttention ring;
  for (const ElementType dtype : {ElementType::kFloat32, ElementType::kBFloat16, ElementType::kFloat16}) {
    ring.dtype = dtype;
    for (const char* name : {"", "bfloat16"}) {
      ChooseVariant("", "", "", name, &ring);
      EXPECT_EQ(ring.p_is_bf16, dtype != ElementType::kFloat32);
    }
    ChooseVariant("", "", "", "float32", &ring);
    EXPECT_FALSE(ring.p_is_bf16);
    if (dtype != ElementType::kFloat32) {
      EXPECT_THROW(ChooseVariant("", "", "", "float16", &ring), UnsupportedError);
    }
    EXPECT_THROW(ChooseVariant("", "", "sum", "", &ring), ArgumentError);
    EXPECT_THROW(ChooseVariant("int8", "", "", "", &ring), ArgumentError);
  }
}

TEST(RingAttention, RefusesWhatDoesNotFit) {
  RingAttention ring = CausalRing();
  CheckRing(ring);
  const auto expect_refused = [&](const auto& change) {
    RingAttention other = CausalRing();
    change(&other);
    EXPECT_THROW(CheckRing(other), ArgumentError);
  };
  expect_refused([](RingAttention* r) { r->num_keys = 4; });
  expect_refused([](RingAttention* r) { r->num_queries = r->num_keys = 5; });
  expect_refused([](RingAttention* r) { r->num_kv_heads = 2; });
  expect_refused([](RingAttention* r) { r->key_block = -1; });
  expect_refused([](RingAttention* r) { r->dtype = ElementType::kInt32; });
  expect_refused([](RingAttention* r) { r->accum = ElementType::kBFloat16; });
  expect_refused([](RingAttention* r) {
    r->dtype = r->partial = ElementType::kBFloat16;
    r->merge = RingMerge::kState;
  });
}

// Softmax attention of one head in double, with the gradients of sum(out * weight).
struct Oracle {
  std::vector<double> out, dq, dk, dv;

  Oracle(std::int64_t rows, std::int64_t size, const float* q, const float* k, const float* v, const float* weight)
      : out(rows * size), dq(rows * size), dk(rows * size), dv(rows * size) {
    const double scale = 1 / std::sqrt(static_cast<double>(size));
    for (std::int64_t i = 0; i < rows; ++i) {
      std::vector<double> p(i + 1), dp(i + 1);
      double total = 0, mean = 0;
      for (std::int64_t j = 0; j <= i; ++j) {
        for (std::int64_t d = 0; d < size; ++d) p[j] += scale * q[i * size + d] * k[j * size + d];
        total += p[j] = std::exp(p[j]);
      }
      for (std::int64_t j = 0; j <= i; ++j) {
        p[j] /= total;
        for (std::int64_t d = 0; d < size; ++d) {
          out[i * size + d] += p[j] * v[j * size + d];
          dv[j * size + d] += p[j] * weight[i * size + d];
          dp[j] += weight[i * size + d] * static_cast<double>(v[j * size + d]);
        }
        mean += p[j] * dp[j];
      }
      for (std::int64_t j = 0; j <= i; ++j) {
        const double ds = scale * p[j] * (dp[j] - mean);
        for (std::int64_t d = 0; d < size; ++d) {
          dq[i * size + d] += ds * k[j * size + d];
          dk[j * size + d] += ds * q[i * size + d];
        }
      }
    }
  }
};

TEST(RingAttention, GivesTheResultAndTheGradientOfTheWholeSequence) {
  constexpr int kSize = 3;
  constexpr std::int64_t kChunk = 5, kRows = 2 * kSize * kChunk, kWidth = 8;
  std::mt19937 generator(3);
  std::normal_distribution<float> normal;
  std::vector<float> whole[4];  // q, k, v, the gradient of out
  for (std::vector<float>& array : whole) {
    for (std::int64_t i = 0; i < kRows * kWidth; ++i) array.push_back(normal(generator));
  }
  const Oracle expected(kRows, kWidth, whole[0].data(), whole[1].data(), whole[2].data(), whole[3].data());
  for (const RingMerge merge : {RingMerge::kState, RingMerge::kLogSumExp}) {
    const auto run = [&](LocalComm* comm) {
      std::vector<std::int64_t> rows;
      for (const int chunk : {comm->rank(), 2 * kSize - 1 - comm->rank()}) {
        for (std::int64_t i = 0; i < kChunk; ++i) rows.push_back(chunk * kChunk + i);
      }
      std::vector<float> own[4];
      for (int a = 0; a < 4; ++a) {
        for (const std::int64_t row : rows)
          own[a].insert(own[a].end(), &whole[a][row * kWidth], &whole[a][row * kWidth] + kWidth);
      }
      RingAttention ring;
      ring.causal = true;
      ring.merge = merge;
      ring.num_queries = ring.num_keys = 2 * kChunk;
      ring.size = ring.value_size = kWidth;
      ring.scale = 1 / std::sqrt(static_cast<float>(kWidth));
      const RingOperands operands{own[0].data(), own[1].data(), own[2].data()};
      std::vector<float> out(own[0].size()), lse(2 * kChunk), dq(out.size()), dk(out.size()), dv(out.size());
      RingForward(comm, ring, operands, out.data(), lse.data());
      RingBackward(comm, ring, operands, out.data(), lse.data(), {own[3].data()}, {dq.data(), dk.data(), dv.data()});
      EXPECT_EQ(comm->bytes_sent(), 2 * (kSize - 1) * 2 * own[1].size() * 4 + (kSize - 1) * 2 * own[1].size() * 4);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::int64_t at = rows[i / kWidth] * kWidth + static_cast<std::int64_t>(i % kWidth);
        EXPECT_NEAR(out[i], expected.out[at], 1e-5);
        EXPECT_NEAR(dq[i], expected.dq[at], 1e-5);
        EXPECT_NEAR(dk[i], expected.dk[at], 1e-5);
        EXPECT_NEAR(dv[i], expected.dv[at], 1e-5);
      }
    };
    const auto comms = MakeLocalComms(kSize, std::chrono::seconds(60));
    std::vector<std::thread> threads;
    for (const auto& comm : comms) threads.emplace_back([&run, &comm] { run(comm.get()); });
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace amp::dist
