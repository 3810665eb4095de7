#include "kernels/reduce/softmax.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

// Elements that are worth a thread, rows that are worth loops of their own, and what stays in a second cache.
constexpr std::int64_t kWorthAThread = 1 << 13, kNarrow = 64, kCached = 1 << 16;

// `size` elements of each of `inner` lines, all of them side by side.
SoftmaxBlock WholeLines(std::int64_t size, std::int64_t inner) {
  const std::int64_t most = inner < 4 ? 64 : 16;
  const auto together =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(size, 1, most))));
  const std::int64_t width = together * inner;
  return {size / together, width, width, size % together * inner, inner};
}

std::int64_t TileOf(const Softmax& job) {
  return std::clamp<std::int64_t>(kCached / job.size / kNarrow * kNarrow, kNarrow, SoftmaxBlock::kMaxWidth);
}

struct Place {
  const char* x;
  char* y;
};

Place At(const Softmax& job, const void* x, void* y, std::int64_t element) {
  return {static_cast<const char*>(x) + element * (job.x_is_bf16 ? 2 : 4),
          static_cast<char*>(y) + element * (job.y_is_bf16 ? 2 : 4)};
}

void RunNarrow(const Softmax& job, const void* x, const std::int64_t* lengths, void* y) {
  const std::int64_t elements = job.size * job.inner;
  const auto run = BestTable<SoftmaxTable>().block;
  ParallelFor(job.outer, std::max<std::int64_t>(1, kWorthAThread / elements), [&](std::int64_t outer) {
    const auto [from, to] = At(job, x, y, outer * elements);
    const std::int64_t used = lengths == nullptr ? job.size : std::clamp<std::int64_t>(lengths[outer], 0, job.size);
    if (used != 0) run(job, WholeLines(used, job.inner), from, to);
    const std::int64_t bytes = job.y_is_bf16 ? 2 : 4;
    std::memset(to + used * job.inner * bytes, 0, static_cast<std::size_t>((job.size - used) * job.inner * bytes));
  });
}

void RunWide(const Softmax& job, const void* x, void* y) {
  const std::int64_t tile = TileOf(job), tiles = CeilDiv(job.inner, tile);
  const auto run = BestTable<SoftmaxTable>().block;
  ParallelFor(job.outer * tiles, std::max<std::int64_t>(1, kWorthAThread / (job.size * tile)), [&](std::int64_t i) {
    const std::int64_t first = i % tiles * tile, width = std::min(tile, job.inner - first);
    const auto [from, to] = At(job, x, y, i / tiles * job.size * job.inner + first);
    run(job, {job.size, job.inner, width, 0, width}, from, to);
  });
}

}  // namespace

void RunSoftmax(const Softmax& job, const void* x, const std::int64_t* lengths, void* y) {
  if (job.inner < kNarrow) return RunNarrow(job, x, lengths, y);
  RunWide(job, x, y);
}

}  // namespace amp::kernels
