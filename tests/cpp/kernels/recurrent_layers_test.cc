// What the operator's own tests do not see of the kernel: threads, scratch memory, and outputs that are left out. Those
// compare its numbers with a plain definition.
#include "kernels/rnn/recurrent_layers.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/float_arrays.h"
#include "kernels/rnn/recurrent_panels.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using testing::FloatsOfSeed;
using testing::SameBits;

// Two layers in both directions over sequences of different lengths.
struct Network {
  explicit Network(RecurrentCell cell) {
    job.cell = cell;
    job.time = 6;
    job.batch = 3;
    job.inputs = 5;
    job.state = 37;  // more than a chunk, and no multiple of a vector
    job.layers = 2;
    job.directions = 2;
    const std::int64_t rows = NumGates(cell) * job.state, states = 4 * job.batch * job.state;
    x = FloatsOfSeed(job.time * job.batch * job.inputs, 1, 0.25f);
    const std::vector<float> parameters =
        FloatsOfSeed(2 * rows * (5 + 37) + 2 * rows * (74 + 37) + 4 * 2 * rows, 2, 0.25f);
    packed.resize(static_cast<std::size_t>(PackedRecurrentSize(job)));
    PackRecurrentParameters(job, parameters.data(), packed.data());
    hidden = FloatsOfSeed(states, 3, 0.25f);
    cells = FloatsOfSeed(states, 4, 0.25f);
  }

  std::vector<float> Run(int num_threads, unsigned char garbage, bool wants_states = true) const {
    const ThreadScope threads(num_threads);
    const std::int64_t outputs = job.time * job.batch * 2 * job.state;
    std::vector<float> y(static_cast<std::size_t>(outputs) + 2 * hidden.size(), -7);
    std::vector<char> memory(RecurrentScratchBytes(job) + 64, static_cast<char>(garbage));
    void* scratch = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
    RecurrentData data{x.data(), packed.data(), hidden.data(), cells.data(), lengths.data(), y.data()};
    if (wants_states) {
      data.last_hidden = y.data() + outputs;
      if (job.cell == RecurrentCell::kLstm) data.last_cells = data.last_hidden + hidden.size();
    }
    RunRecurrentLayers(job, data, scratch);
    return y;
  }

  RecurrentLayers job;
  std::vector<float> x, packed, hidden, cells;
  std::vector<std::int64_t> lengths{6, 0, 9};  // beyond the end: all of it
};

class RecurrentLayersOf : public ::testing::TestWithParam<RecurrentCell> {};

TEST_P(RecurrentLayersOf, DependsNeitherOnThreadsNorOnWhatScratchMemoryHeld) {
  const Network network(GetParam());
  const std::vector<float> expected = network.Run(1, 0);
  EXPECT_TRUE(SameBits(network.Run(3, 0), expected));
  EXPECT_TRUE(SameBits(network.Run(1, 0xFF), expected));  // all NaN
}

TEST_P(RecurrentLayersOf, WritesZerosBehindTheEndAndOnlyWhatIsWanted) {
  const Network network(GetParam());
  const std::int64_t width = 2 * network.job.state, places = network.job.time * network.job.batch;
  const std::vector<float> y = network.Run(1, 0, /*wants_states=*/false);
  for (std::int64_t t = 0; t < network.job.time; ++t) {
    for (std::int64_t i = 0; i < width; ++i) ASSERT_EQ(y[(t * network.job.batch + 1) * width + i], 0);
  }
  for (std::size_t i = static_cast<std::size_t>(places * width); i < y.size(); ++i) ASSERT_EQ(y[i], -7);
}

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentLayersOf,
                         ::testing::Values(RecurrentCell::kRelu, RecurrentCell::kTanh, RecurrentCell::kLstm,
                                           RecurrentCell::kGru));

}  // namespace
}  // namespace amp::kernels
