#include "kernels/reduce/channel_sums.h"

#include <algorithm>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

// Elements that are added in float32 before their sum joins the total.
constexpr std::int64_t kStretch = 1 << 16;

// How the rows of all (n, block) are cut into stretches. Each leaves two sums for each of its `width` channels.
struct Stretches {
  std::int64_t units, rows, count, width;

  std::int64_t total() const { return units * count; }
};

// Dense rows of several n are one.
ChannelSums Joined(ChannelSums job) {
  const bool is_dense = !job.planes && job.blocks == 1 && job.g_batch == job.rows * job.g_row &&
                        (job.what == SumsOf::kGradient || job.x_batch == job.rows * job.x_row);
  const bool squares_only = !job.planes && job.blocks == 1 && job.what == SumsOf::kSquares;
  if (is_dense || (squares_only && job.x_batch == job.rows * job.x_row)) {
    job.rows *= job.batch;
    job.batch = 1;
  }
  return job;
}

Stretches StretchesOf(const ChannelSums& job) {
  const std::int64_t units = job.batch * job.blocks;
  if (job.planes) {
    const std::int64_t length = std::min(job.channels, kStretch);
    return {units, length, length == 0 ? 0 : CeilDiv(job.channels, length), 1};
  }
  const std::int64_t most = std::max<std::int64_t>(32, kStretch / std::max<std::int64_t>(1, job.channels));
  const std::int64_t rows = std::min(job.rows, most);
  return {units, rows, rows == 0 ? 0 : CeilDiv(job.rows, rows), job.channels};
}

const void* At(const ChannelSums& job, const void* data, std::int64_t index) {
  return data == nullptr ? nullptr : static_cast<const char*>(data) + index * (job.is_bf16 ? 2 : 4);
}

void RunStretch(const ChannelSums& job, const Stretches& stretches, std::int64_t i, const void* g, const void* x,
                const float* shift, float* sums) {
  const std::int64_t unit = i / stretches.count, n = unit / job.blocks, block = unit % job.blocks;
  const std::int64_t first = i % stretches.count * stretches.rows;
  const std::int64_t along = job.planes ? job.channels : job.rows, rows = std::min(stretches.rows, along - first);
  const std::int64_t g_row = job.planes ? 1 : job.g_row, x_row = job.planes ? 1 : job.x_row;
  const void* from_g = At(job, g, n * job.g_batch + block * job.g_block + first * g_row);
  const void* from_x = At(job, x, n * job.x_batch + block * job.x_block + first * x_row);
  const auto what = static_cast<std::size_t>(job.what);
  float* second = sums + stretches.width;
  if (job.planes) {
    BestTable<ChannelSumsTable>().plane[what][job.is_bf16](from_g, from_x, rows, shift == nullptr ? 0 : shift[block],
                                                           sums, second);
    return;
  }
  BestTable<ChannelSumsTable>().rows[what][job.is_bf16](from_g, g_row, from_x, x_row, rows, job.channels,
                                                        shift == nullptr ? nullptr : shift + block * job.channels, sums,
                                                        second);
}

}  // namespace

std::size_t ChannelSumsScratchBytes(const ChannelSums& given) {
  const Stretches stretches = StretchesOf(Joined(given));
  return static_cast<std::size_t>(stretches.total() * stretches.width) * 2 * sizeof(float);
}

void RunChannelSums(const ChannelSums& given, const void* g, const void* x, const float* shift, double* first,
                    double* second, void* scratch) {
  const ChannelSums job = Joined(given);
  const Stretches stretches = StretchesOf(job);
  auto* sums = static_cast<float*>(scratch);
  const std::int64_t width = stretches.width;
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 13) / std::max<std::int64_t>(1, stretches.rows * width));
  ParallelFor(stretches.total(), grain,
              [&](std::int64_t i) { RunStretch(job, stretches, i, g, x, shift, sums + i * 2 * width); });
  const std::int64_t per_channel = job.batch * stretches.count;
  ParallelFor(job.num_channels(), std::max<std::int64_t>(1, (1 << 13) / std::max<std::int64_t>(1, per_channel)),
              [&](std::int64_t channel) {
                const std::int64_t block = channel / width, within = channel % width;
                double totals[2] = {0, 0};
                for (std::int64_t n = 0; n < job.batch; ++n) {
                  const float* of_unit = sums + (n * job.blocks + block) * stretches.count * 2 * width + within;
                  for (std::int64_t s = 0; s < stretches.count; ++s) {
                    totals[0] += static_cast<double>(of_unit[s * 2 * width]);
                    totals[1] += static_cast<double>(of_unit[(s * 2 + 1) * width]);
                  }
                }
                first[channel] = totals[0];
                if (job.what != SumsOf::kGradient) second[channel] = totals[1];
              });
}

}  // namespace amp::kernels
