#include "kernels/vision/pool_gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/base/float_bits.h"
#include "kernels/float_arrays.h"
#include "kernels/guarded.h"
#include "kernels/tables_that_run.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using testing::HalvesOf;
using Random = std::mt19937;
using Three = std::array<std::int64_t, 3>;

std::int64_t CountOf(const Three& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// Small whole numbers: largest elements are often not alone, and sums are exact.
std::vector<float> DrawWholeNumbers(Random& random, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 9)) - 4;
  return values;
}

PoolGradient DrawPoolGradient(Random& random) {
  PoolGradient job;
  job.is_max = random() % 2 == 0;
  job.counts_pads = random() % 2 == 0;
  job.is_bf16 = random() % 2 == 0;
  for (int axis = static_cast<int>(random() % 3); axis < 3; ++axis) {
    job.in[axis] = 1 + static_cast<std::int64_t>(random() % 7);
    job.kernel[axis] = 1 + static_cast<std::int64_t>(random() % 4);
    job.stride[axis] = 1 + static_cast<std::int64_t>(random() % 3);
    job.pad[axis] = static_cast<std::int64_t>(random()) % job.kernel[axis];
    const std::int64_t room = std::max<std::int64_t>(0, job.in[axis] + 2 * job.pad[axis] - job.kernel[axis]);
    job.out[axis] = (room + static_cast<std::int64_t>(random()) % job.stride[axis]) / job.stride[axis] + 1;
  }
  job.batch = 1 + static_cast<std::int64_t>(random() % 3);
  job.blocks = 1 + static_cast<std::int64_t>(random() % 3);
  job.channels = random() % 2 == 0 ? 1 + static_cast<std::int64_t>(random() % 70) : 16;
  for (auto [place, sizes] :
       {std::pair{&job.g, &job.out}, {&job.x, &job.in}, {&job.y, &job.out}, {&job.result, &job.in}}) {
    place->row = job.channels;
    place->block = CountOf(*sizes) * place->row;
    place->batch = job.blocks * place->block;
  }
  return job;
}

// One window of one channel.
struct Window {
  std::vector<std::int64_t> positions;
  std::int64_t padded = 1;

  Window(const PoolGradient& job, const Three& at) {
    Three begin{}, end{};
    for (int axis = 0; axis < 3; ++axis) {
      begin[axis] = at[axis] * job.stride[axis] - job.pad[axis];
      end[axis] = std::min(begin[axis] + job.kernel[axis], job.in[axis] + job.pad[axis]);
      padded *= end[axis] - begin[axis];
    }
    const auto is_inside = [&](std::int64_t i, int axis) { return i >= 0 && i < job.in[axis]; };
    for (std::int64_t d = begin[0]; d < end[0]; ++d) {
      for (std::int64_t h = begin[1]; h < end[1]; ++h) {
        for (std::int64_t w = begin[2]; w < end[2]; ++w) {
          if (is_inside(d, 0) && is_inside(h, 1) && is_inside(w, 2)) {
            positions.push_back((d * job.in[1] + h) * job.in[2] + w);
          }
        }
      }
    }
  }
};

// An obvious definition, which finds the results of the windows, too.
std::vector<float> DefinePoolGradient(const PoolGradient& job, const std::vector<float>& g, const std::vector<float>& x,
                                      std::vector<float>* y) {
  std::vector<float> result(x.size(), 0.0f);
  for (std::int64_t unit = 0; unit < job.batch * job.blocks; ++unit) {
    for (std::int64_t o = 0; o < CountOf(job.out); ++o) {
      const Window window(job, {o / (job.out[1] * job.out[2]), o / job.out[2] % job.out[1], o % job.out[2]});
      for (std::int64_t c = 0; c < job.channels; ++c) {
        const std::int64_t from = (unit * CountOf(job.out) + o) * job.channels + c;
        const auto at = [&](std::int64_t position) { return (unit * CountOf(job.in) + position) * job.channels + c; };
        const auto count = job.counts_pads ? window.padded : std::ssize(window.positions);
        std::int64_t largest = -1;
        for (const std::int64_t position : window.positions) {
          if (largest < 0 || x[at(position)] > x[at(largest)]) largest = position;
          if (!job.is_max) result[at(position)] += g[from] / static_cast<float>(count);
        }
        if (largest < 0) continue;
        (*y)[from] = x[at(largest)];
        if (job.is_max) result[at(largest)] += g[from];
      }
    }
  }
  return result;
}

TEST(PoolGradient, AnyWindows) {
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    const PoolGradient job = DrawPoolGradient(random);
    const std::int64_t units = job.batch * job.blocks * job.channels;
    const std::vector<float> g = DrawWholeNumbers(random, units * CountOf(job.out)),
                             x = DrawWholeNumbers(random, units * CountOf(job.in));
    std::vector<float> y(g.size(), 77.0f);
    const std::vector<float> expected = DefinePoolGradient(job, g, x, &y);
    const Guarded<float> g32(g), x32(x), y32(y);
    const Guarded<std::uint16_t> g16(HalvesOf(g)), x16(HalvesOf(x)), y16(HalvesOf(y));
    const auto pick = [&](const auto& floats, const auto& halves) {
      return job.is_bf16 ? static_cast<const void*>(halves.data()) : floats.data();
    };
    for (const int threads : {1, 3}) {
      const ThreadScope scope(threads);
      const Guarded<float> result(x.size());
      RunPoolGradient(job, pick(g32, g16), pick(x32, x16), pick(y32, y16), result.data());
      ASSERT_EQ(result.values(), expected) << "case " << i << ", " << threads << " threads";
    }
  }
}

// All channels of one unit at once.
TEST(PoolGradient, EachInstructionSet) {
  Random random(5);
  for (const PoolGradientTable* table : testing::TablesThatRun<PoolGradientTable>()) {
    for (int i = 0; i < 60; ++i) {
      PoolGradient job = DrawPoolGradient(random);
      job.batch = job.blocks = 1;
      const std::vector<float> g = DrawWholeNumbers(random, job.channels * CountOf(job.out)),
                               x = DrawWholeNumbers(random, job.channels * CountOf(job.in));
      std::vector<float> y(g.size(), 77.0f);
      const std::vector<float> expected = DefinePoolGradient(job, g, x, &y);
      const Guarded<float> g32(g), x32(x), y32(y), result(x.size());
      table->unit[job.is_max][false](job, g32.data(), x32.data(), y32.data(), result.data(), job.channels);
      ASSERT_EQ(result.values(), expected) << IsaName(table->isa) << ", case " << i;
    }
  }
}

}  // namespace
}  // namespace amp::kernels
