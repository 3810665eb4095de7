#include "program/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "nnvm/error.h"

namespace amp::onednn {
namespace {

using Offsets = std::vector<std::size_t>;

TEST(PlanArena, NothingNeedsNothing) {
  EXPECT_EQ(PlanArena({}).bytes, 0u);
  EXPECT_EQ(PlanArena({{0, 0, 5}}).bytes, 0u);
}

TEST(PlanArena, SumsThatWouldWrapAreRefused) {
  const std::vector<Buffer> buffers(1 << 12, Buffer{std::size_t{1} << 53, 0, 1});
  EXPECT_THROW(PlanArena(buffers), Error);
}

TEST(PlanArena, OneAfterTheOtherShareBytes) {
  const ArenaPlan plan = PlanArena({{100, 0, 1}, {100, 2, 3}, {100, 4, 4}});
  EXPECT_EQ(plan.offsets, (Offsets{0, 0, 0}));
  EXPECT_EQ(plan.bytes, 128u);
}

TEST(PlanArena, ReaderAndWriterOfOneStepDoNotShare) {
  const ArenaPlan plan = PlanArena({{64, 0, 1}, {64, 1, 2}});
  EXPECT_EQ(plan.offsets, (Offsets{0, 64}));
  EXPECT_EQ(plan.bytes, 128u);
}

TEST(PlanArena, SmallBuffersFillGaps) {
  // The large one dies, two small ones live in its place; the third overlaps both.
  const ArenaPlan plan = PlanArena({{256, 0, 1}, {128, 2, 4}, {128, 2, 4}, {64, 3, 3}});
  EXPECT_EQ(plan.offsets, (Offsets{0, 0, 128, 256}));
  EXPECT_EQ(plan.bytes, 320u);
}

TEST(PlanArena, AGapBetweenTwoLivesIsFound) {
  const ArenaPlan plan = PlanArena({{192, 0, 9}, {128, 0, 1}, {64, 2, 9}, {64, 2, 9}, {32, 1, 1}});
  EXPECT_EQ(plan.offsets, (Offsets{0, 192, 192, 256, 320}));
}

TEST(PlanArena, OverlappingLivesNeverShareBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<Buffer> buffers(random() % 40);
    std::size_t total = 0;
    for (Buffer& buffer : buffers) {
      buffer.first = random() % 20;
      buffer.last = buffer.first + random() % 6;
      buffer.bytes = random() % (random() % 3 ? 300 : 5000);
      total += (buffer.bytes + 63) / 64 * 64;
    }
    const ArenaPlan plan = PlanArena(buffers);
    EXPECT_LE(plan.bytes, total);
    std::size_t busiest = 0;  // no plan can do with less
    for (std::size_t step = 0; step < 30; ++step) {
      std::size_t live = 0;
      for (const Buffer& b : buffers) live += b.first <= step && step <= b.last ? b.bytes : 0;
      busiest = std::max(busiest, live);
    }
    EXPECT_GE(plan.bytes, busiest);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % 64, 0u);
      EXPECT_LE(plan.offsets[i] + buffers[i].bytes, plan.bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
        const bool apart = plan.offsets[i] + buffers[i].bytes <= plan.offsets[j] ||
                           plan.offsets[j] + buffers[j].bytes <= plan.offsets[i];
        EXPECT_TRUE(!together || apart || buffers[i].bytes == 0 || buffers[j].bytes == 0);
      }
    }
    EXPECT_EQ(PlanArena(buffers).offsets, plan.offsets);
  }
}

}  // namespace
}  // namespace amp::onednn
