#include "kernels/vision/box_nms.h"
#include "kernels/tables_that_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using Random = std::mt19937;
using Box = std::array<float, 4>;

Box Corners(const BoxNms& work, const float* row) {
  const float* b = row + work.coord_start;
  if (!work.from_center) return {b[0], b[1], b[2], b[3]};
  return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
}

float Overlap(const Box& a, const Box& b) {
  const auto area = [](const Box& x) { return std::max(0.f, x[2] - x[0]) * std::max(0.f, x[3] - x[1]); };
  const float both = area({std::max(a[0], b[0]), std::max(a[1], b[1]), std::min(a[2], b[2]), std::min(a[3], b[3])});
  const float either = area(a) + area(b) - both;
  return either > 0 ? both / either : 0;
}

void KeepSlowly(const BoxNms& work, const float* x, float* y) {
  const auto value = [&](std::int64_t row, std::int64_t i) { return x[row * work.width + i]; };
  std::vector<std::int64_t> order(static_cast<std::size_t>(work.count)), kept;
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::int64_t row) {
    const bool is_background =
        work.id_index >= 0 && value(row, work.id_index) == static_cast<float>(work.background_id);
    return !(value(row, work.score_index) > work.valid_thresh) || is_background;
  });
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return value(a, work.score_index) > value(b, work.score_index);
  });
  if (work.topk > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(work.topk)));
  for (const std::int64_t row : order) {
    const auto suppresses = [&](std::int64_t other) {
      const bool rivals =
          work.force_suppress || work.id_index < 0 || value(row, work.id_index) == value(other, work.id_index);
      const Box a = Corners(work, x + row * work.width), b = Corners(work, x + other * work.width);
      return rivals && static_cast<double>(Overlap(a, b)) > work.overlap_thresh;
    };
    if (std::none_of(kept.begin(), kept.end(), suppresses)) kept.push_back(row);
  }
  std::fill_n(y, work.count * work.width, -1.f);
  for (const std::int64_t row : kept) {
    std::copy_n(x + row * work.width, work.width, y);
    const Box b = Corners(work, x + row * work.width);
    const Box center{(b[0] + b[2]) / 2, (b[1] + b[3]) / 2, b[2] - b[0], b[3] - b[1]};
    if (work.from_center != work.to_center) {
      std::copy_n(work.to_center ? center.begin() : b.begin(), 4, y + work.coord_start);
    }
    y += work.width;
  }
}

BoxNms DrawNms(Random& random) {
  BoxNms work;
  work.images = static_cast<std::int64_t>(1 + random() % 3);
  work.count = static_cast<std::int64_t>(random() % 20 == 0 ? 9000 : 1 + random() % 300);
  work.width = static_cast<std::int64_t>(6 + random() % 3);
  work.coord_start = static_cast<std::int64_t>(random() % 2) * 2;
  work.score_index = work.coord_start == 0 ? 4 : 1;
  work.id_index = random() % 3 == 0 ? -1 : work.coord_start == 0 ? 5 : 0;
  work.background_id = random() % 2 == 0 ? -1 : 1;
  work.topk = random() % 2 == 0 ? -1 : static_cast<std::int64_t>(1 + random() % 100);
  work.overlap_thresh = std::array{0.0, 0.1, 0.45, 0.7, 1.0}[random() % 5];
  work.valid_thresh = random() % 2 == 0 ? 0.01f : -2.f;
  work.force_suppress = random() % 3 == 0;
  work.from_center = random() % 2 == 0;
  work.to_center = random() % 2 == 0;
  return work;
}

std::vector<float> DrawBoxes(Random& random, const BoxNms& work) {
  std::vector<float> x;
  for (std::int64_t i = 0; i < work.images * work.count; ++i) {
    std::vector<float> row(static_cast<std::size_t>(work.width), 7.f);
    const auto number = [&](int steps) { return static_cast<float>(random() % static_cast<unsigned>(steps)); };
    row[work.coord_start] = number(40);
    row[work.coord_start + 1] = number(40);
    row[work.coord_start + 2] = row[work.coord_start] + number(30);
    row[work.coord_start + 3] = row[work.coord_start + 1] + number(30);
    if (random() % 50 == 0) row[work.coord_start + random() % 4] = std::nanf("");
    row[work.score_index] = number(60) / 40 - 0.5f;  // many are equal
    if (random() % 20 == 0) row[work.score_index] = std::array{-0.f, 0.f, std::nanf(""), INFINITY}[random() % 4];
    if (work.id_index >= 0) row[work.id_index] = number(4) - 1;
    x.insert(x.end(), row.begin(), row.end());
  }
  return x;
}

TEST(BoxNms, KeepsWhatAnObviousLoopKeeps) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const BoxNms work = DrawNms(random);
    const Guarded<float> x(DrawBoxes(random, work));
    std::vector<float> expected(x.size());
    for (std::int64_t i = 0; i < work.images; ++i) {
      const std::int64_t first = i * work.count * work.width;
      KeepSlowly(work, x.data() + first, expected.data() + first);
    }
    for (const int threads : {1, 2, 3}) {
      const ThreadScope scope(threads);
      const Guarded<std::uint64_t> scratch(work.ScratchBytes() / 8);
      const Guarded<float> y(expected.size());
      work.Run(x.data(), y.data(), scratch.data());
      ASSERT_EQ(std::memcmp(y.data(), expected.data(), expected.size() * sizeof(float)), 0) << "seed " << seed;
    }
  }
}

// Tries all instruction sets, on lengths around the width of a register; nothing behind the end is read.
TEST(BoxNms, SuppressionOfAllLengths) {
  Random random(5);
  for (const BoxNmsTable* table : testing::TablesThatRun<BoxNmsTable>()) {
    for (std::int64_t count = 1; count < 70; ++count) {
      std::vector<std::unique_ptr<Guarded<float>>> memory;
      for (int k = 0; k < 6; ++k) {
        std::vector<float> values;
        for (std::int64_t i = 0; i < count; ++i)
          values.push_back(static_cast<float>(random() % 9 + (k / 2 == 1 ? 5 : 0)));
        memory.push_back(std::make_unique<Guarded<float>>(values));
      }
      const auto at = [&](int k) { return memory[static_cast<std::size_t>(k)]->data(); };
      const Guarded<std::int32_t> flags(std::vector<std::int32_t>(static_cast<std::size_t>(count), 0));
      const RankedBoxes boxes{at(0), at(1), at(2), at(3), at(4), at(5), flags.data()};
      std::vector<std::int32_t> expected(static_cast<std::size_t>(count), 0);
      for (std::int64_t j = 0; j < count; ++j) {
        const Box a{at(0)[j], at(1)[j], at(2)[j], at(3)[j]}, b{at(0)[0], at(1)[0], at(2)[0], at(3)[0]};
        at(4)[j] = std::max(0.f, a[2] - a[0]) * std::max(0.f, a[3] - a[1]);
        expected[j] = at(5)[j] == at(5)[0] && Overlap(a, b) > 0.2f ? 1 : 0;
      }
      table->suppress(boxes, 0, 0, count, 0.2f, false);
      ASSERT_EQ(flags.values(), expected) << IsaName(table->isa) << " of " << count;
    }
  }
}

}  // namespace
}  // namespace amp::kernels
