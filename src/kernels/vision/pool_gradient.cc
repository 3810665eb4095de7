#include "kernels/vision/pool_gradient.h"

#include <algorithm>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kChannels = 32;  // that a thread takes at a time

}  // namespace

void RunPoolGradient(const PoolGradient& job, const void* g, const void* x, const void* y, float* result) {
  const std::int64_t groups = CeilDiv(job.channels, kChannels), bytes = job.is_bf16 ? 2 : 4;
  const auto unit = BestTable<PoolGradientTable>().unit[job.is_max][job.is_bf16];
  const std::int64_t elements = std::max<std::int64_t>(1, job.in_positions() * std::min(job.channels, kChannels));
  ParallelFor(job.batch * job.blocks * groups, std::max<std::int64_t>(1, (1 << 12) / elements), [&](std::int64_t i) {
    const std::int64_t n = i / groups / job.blocks, block = i / groups % job.blocks, first = i % groups * kChannels;
    const auto offset = [&](const PoolGradient::Place& place) { return n * place.batch + block * place.block + first; };
    const auto at = [&](const void* data, const PoolGradient::Place& place) -> const void* {
      return data == nullptr ? nullptr : static_cast<const char*>(data) + offset(place) * bytes;
    };
    unit(job, at(g, job.g), at(x, job.x), at(y, job.y), result + offset(job.result),
         std::min(kChannels, job.channels - first));
  });
}

}  // namespace amp::kernels
