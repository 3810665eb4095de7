#include "program/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "nnvm/error.h"

namespace amp {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMaxBytes = std::size_t{1} << 56;

std::size_t Aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

ArenaPlan PlanArena(const std::vector<Buffer>& buffers) {
  std::vector<std::size_t> by_size(buffers.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  ArenaPlan plan;
  plan.offsets.resize(buffers.size());
  std::vector<std::size_t> placed;  // sorted by offset
  for (const std::size_t i : by_size) {
    const Buffer& buffer = buffers[i];
    std::size_t offset = 0;
    for (const std::size_t j : placed) {
      const bool overlaps = buffers[j].first <= buffer.last && buffer.first <= buffers[j].last;
      if (!overlaps) continue;
      if (plan.offsets[j] >= offset + Aligned(buffer.bytes)) break;  // it fits into the gap before j
      offset = std::max(offset, plan.offsets[j] + Aligned(buffers[j].bytes));
    }
    // Absurdly large sizes must not wrap around into a small sum.
    if (offset > kMaxBytes || buffer.bytes > kMaxBytes) {
      Throw<Error>("a run would need more than {} bytes of memory", kMaxBytes);
    }
    plan.offsets[i] = offset;
    plan.bytes = std::max(plan.bytes, offset + Aligned(buffer.bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](std::size_t a, std::size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
                  i);
  }
  return plan;
}

}  // namespace amp
