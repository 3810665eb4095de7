#include "kernels/movement/scatter_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

// In order: the bits are those of the obvious loop, whatever the number of threads.
TEST(ScatterRows, AddsInOrder) {
  std::mt19937 random(10);
  std::normal_distribution<float> normal(0, 1);
  for (int i = 0; i < 100; ++i) {
    const ScatterRows job{static_cast<std::int64_t>(random() % 200), 1 + static_cast<std::int64_t>(random() % 90),
                          1 + static_cast<std::int64_t>(random() % 300)};
    std::vector<float> from(static_cast<std::size_t>(job.count * job.width));
    for (float& value : from) value = normal(random);
    std::vector<std::int64_t> indices(static_cast<std::size_t>(job.count));
    for (std::int64_t& index : indices) index = static_cast<std::int64_t>(random()) % job.rows;
    std::vector<float> expected(static_cast<std::size_t>(job.rows * job.width), 0.0f);
    for (std::int64_t row = 0; row < job.count; ++row) {
      for (std::int64_t k = 0; k < job.width; ++k) {
        expected[static_cast<std::size_t>(indices[row] * job.width + k)] += from[row * job.width + k];
      }
    }
    const Guarded<float> source(from);
    const Guarded<std::int64_t> given(indices);
    for (const int threads : {1, 3}) {
      const ThreadScope scope(threads);
      const Guarded<float> to(expected.size());
      const Guarded<char> scratch(ScatterRowsScratchBytes(job));
      RunScatterRows(job, source.data(), given.data(), to.data(), scratch.data());
      ASSERT_EQ(to.values(), expected) << "case " << i << ", " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace amp::kernels
