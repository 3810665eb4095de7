#include "kernels/reduce/running_sum.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

template <class T>
void CheckRunningSums() {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    RunningSum work;
    work.is_integer = std::is_integral_v<T>;
    work.outer = static_cast<std::int64_t>(1 + random() % 4);
    work.size = static_cast<std::int64_t>(1 + random() % 30);
    work.inner = random() % 2 == 0 ? 1 : static_cast<std::int64_t>(1 + random() % 1100);
    std::vector<T> values(static_cast<std::size_t>(work.outer * work.size * work.inner));
    for (T& value : values) value = static_cast<T>(random() % 100) - 50;
    std::vector<T> expected = values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i);
      if (place / work.inner % work.size != 0) expected[i] += expected[i - static_cast<std::size_t>(work.inner)];
    }
    const Guarded<T> x(values), y(values.size());
    const ThreadScope scope(static_cast<int>(1 + random() % 3));
    work.Run(x.data(), y.data());
    ASSERT_EQ(y.values(), expected) << "seed " << seed;
  }
}

TEST(RunningSum, AlongOneAxis) {
  CheckRunningSums<double>();
  CheckRunningSums<std::int64_t>();
}

}  // namespace
}  // namespace amp::kernels
