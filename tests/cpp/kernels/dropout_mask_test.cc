#include "kernels/elementwise/dropout_mask.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/guarded.h"
#include "kernels/tables_that_run.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

const RandomStream kStream(1234567890123, 42, 9876543210987);

std::vector<float> DefineMask(const DropoutMask& job, std::int64_t first_block, std::int64_t count) {
  std::vector<float> mask;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto drawn = kStream.Block(static_cast<std::uint64_t>(first_block + i / 4))[static_cast<std::size_t>(i % 4)];
    mask.push_back(static_cast<double>(drawn) * 0x1p-32 < job.p ? 0.0f : job.kept);
  }
  return mask;
}

TEST(DropoutMask, AnyCountAndThreads) {
  for (const double p : {0.0, 0.1, 0.5, 1.0}) {
    const DropoutMask job{p, 1.25f};
    for (const std::int64_t count : {0, 1, 3, 4, 63, 64, 65, 1000, 20003}) {
      for (const int threads : {1, 3}) {
        const ThreadScope scope(threads);
        const Guarded<float> mask(static_cast<std::size_t>(count));
        RunDropoutMask(job, kStream, count, mask.data());
        ASSERT_EQ(mask.values(), DefineMask(job, 0, count))
            << p << ", " << count << " numbers, " << threads << " threads";
      }
    }
  }
}

// Positions beyond 2^32 take both halves of the counter.
TEST(DropoutMask, EachInstructionSet) {
  const DropoutMask job{0.3, 2.0f};
  for (const DropoutMaskTable* table : testing::TablesThatRun<DropoutMaskTable>()) {
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{7}, (std::int64_t{1} << 32) - 3}) {
      for (std::int64_t blocks = 1; blocks < 40; ++blocks) {
        const Guarded<float> mask(static_cast<std::size_t>(4 * blocks));
        table->blocks(job, kStream, first, blocks, mask.data());
        ASSERT_EQ(mask.values(), DefineMask(job, first, 4 * blocks))
            << IsaName(table->isa) << ", " << blocks << " blocks";
      }
    }
  }
}

}  // namespace
}  // namespace amp::kernels
