#include "kernels/elementwise/dropout_mask.h"

#include <algorithm>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kBlocks = 1024;  // that a thread takes at a time

}  // namespace

void RunDropoutMask(const DropoutMask& job, const RandomStream& stream, std::int64_t count, float* mask) {
  const auto run = BestTable<DropoutMaskTable>().blocks;
  const std::int64_t whole = count / 4;
  ParallelFor(CeilDiv(whole, kBlocks), 2, [&](std::int64_t i) {
    run(job, stream, i * kBlocks, std::min(kBlocks, whole - i * kBlocks), mask + 4 * i * kBlocks);
  });
  if (count % 4 == 0) return;
  float last[4];
  run(job, stream, whole, 1, last);
  std::copy_n(last, count % 4, mask + 4 * whole);
}

}  // namespace amp::kernels
