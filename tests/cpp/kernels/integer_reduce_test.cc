#include "kernels/reduce/integer_reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/guarded.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

std::int64_t Joined(IntegerOp op, std::int64_t total, std::int64_t x) {
  switch (op) {
    case IntegerOp::kSum:
      return total + x;
    case IntegerOp::kProduct:
      return total * x;
    case IntegerOp::kMax:
      return std::max(total, x);
    case IntegerOp::kMin:
      return std::min(total, x);
    case IntegerOp::kAny:
      return total != 0 || x != 0;
    case IntegerOp::kAll:
      break;
  }
  return total != 0 && x != 0;
}

template <class T>
void CheckIntegers(ElementType type, bool logical_only = false) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    std::mt19937 random(seed);
    IntegerReduce work{static_cast<IntegerOp>(logical_only ? 4 + random() % 2 : random() % 6), type};
    ASSERT_TRUE(IntegerReduce::IsType(type, work.op));
    work.outer = static_cast<std::int64_t>(1 + random() % 4);
    work.count = static_cast<std::int64_t>(1 + random() % 9);
    work.inner = random() % 2 == 0 ? 1 : static_cast<std::int64_t>(1 + random() % 1100);
    std::vector<T> values(static_cast<std::size_t>(work.outer * work.count * work.inner));
    for (T& value : values) value = static_cast<T>(random() % 3);
    std::vector<std::int64_t> expected;
    for (std::int64_t i = 0; i < work.outer * work.inner; ++i) {
      const auto at = [&](std::int64_t k) {
        const T value =
            values[static_cast<std::size_t>((i / work.inner * work.count + k) * work.inner + i % work.inner)];
        return type == ElementType::kBool ? std::int64_t{value != 0} : static_cast<std::int64_t>(value);
      };
      std::int64_t total = work.op < IntegerOp::kAny ? at(0) : std::int64_t{at(0) != 0};
      for (std::int64_t k = 1; k < work.count; ++k) total = Joined(work.op, total, at(k));
      expected.push_back(total);
    }
    const Guarded<T> x(values);
    const Guarded<std::int64_t> y(expected.size());
    const ThreadScope scope(static_cast<int>(1 + random() % 3));
    work.Run(x.data(), y.data());
    ASSERT_EQ(y.values(), expected) << "seed " << seed;
  }
}

TEST(IntegerReduce, OverOneAxis) {
  CheckIntegers<std::uint8_t>(ElementType::kUInt8);
  CheckIntegers<std::uint8_t>(ElementType::kBool);
  CheckIntegers<std::int8_t>(ElementType::kInt8);
  CheckIntegers<std::int32_t>(ElementType::kInt32);
  CheckIntegers<std::int64_t>(ElementType::kInt64);
  CheckIntegers<float>(ElementType::kFloat32, true);
  EXPECT_FALSE(IntegerReduce::IsType(ElementType::kFloat32, IntegerOp::kSum));
}

}  // namespace
}  // namespace amp::kernels
