#include "kernels/movement/triangle.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

template <class T>
void CheckTriangles() {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    Triangle work;
    work.matrices = static_cast<std::int64_t>(random() % 4);
    work.rows = static_cast<std::int64_t>(random() % 9);
    work.columns = static_cast<std::int64_t>(random() % 9);
    work.row_stride = random() % 4 == 0 ? 0 : work.columns;
    work.diagonal = static_cast<std::int64_t>(random() % 25) - 12;
    work.lower = random() % 2 == 0;
    work.element_bytes = sizeof(T);
    const std::int64_t count = work.row_stride == 0 ? work.columns : work.matrices * work.rows * work.columns;
    std::vector<T> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i + 1);
    const Guarded<T> x(values), y(static_cast<std::size_t>(work.matrices * work.rows * work.columns));
    const ThreadScope scope(static_cast<int>(1 + random() % 3));
    work.Run(x.data(), y.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i), above = place % work.columns - place / work.columns % work.rows;
      const bool stays = work.lower ? above <= work.diagonal : above >= work.diagonal;
      const std::size_t from = work.row_stride == 0 ? i % static_cast<std::size_t>(work.columns) : i;
      ASSERT_EQ(y.data()[i], stays ? values[from] : T{0}) << "seed " << seed;
    }
  }
}

TEST(Triangle, KeepsOneSideOfADiagonal) {
  CheckTriangles<std::uint8_t>();
  CheckTriangles<std::uint32_t>();
  CheckTriangles<std::uint64_t>();
}

}  // namespace
}  // namespace amp::kernels
