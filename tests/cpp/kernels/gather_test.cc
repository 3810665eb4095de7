#include "kernels/movement/gather.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <vector>

#include "kernels/guarded.h"

namespace amp::kernels {
namespace {

TEST(GatherRows, CopiesWhatIsNamed) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::size_t row = seed % 20, rows = 1 + random() % 50, count = random() % (seed % 10 == 0 ? 40000 : 100);
    std::vector<unsigned char> data(rows * row), expected;
    for (auto& value : data) value = static_cast<unsigned char>(random());
    std::vector<std::int64_t> places(count);
    for (auto& place : places) place = static_cast<std::int64_t>(random() % rows);
    for (const std::int64_t place : places) {
      const auto first = data.begin() + place * static_cast<std::int64_t>(row);
      expected.insert(expected.end(), first, first + static_cast<std::int64_t>(row));
    }
    const Guarded<unsigned char> from(data);
    for (const int threads : {1, 2, 3}) {
      const Guarded<unsigned char> to(expected.size());
      const ThreadScope scope(threads);
      GatherRows(from.data(), to.data(), static_cast<std::int64_t>(count), row,
                 [&](std::int64_t i) { return places[static_cast<std::size_t>(i)]; });
      ASSERT_EQ(to.values(), expected) << "seed " << seed << ", " << threads << " threads";
    }
  }
}

TEST(GatherRows, AnErrorReachesTheCaller) {
  std::vector<std::uint32_t> from(1), to(100000);
  const ThreadScope scope(2);
  const auto fail = [](std::int64_t i) -> std::int64_t {
    if (i == 77777) throw std::runtime_error("out of range");
    return 0;
  };
  EXPECT_THROW(GatherRows(from.data(), to.data(), 100000, 4, fail), std::runtime_error);
}

}  // namespace
}  // namespace amp::kernels
