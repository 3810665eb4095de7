#include "nnvm/shape.h"

#include <gtest/gtest.h>

#include <random>

#include "nnvm/compose.h"

namespace amp {
namespace {

using testing::ErrorOf;

constexpr std::int64_t kAny = kUnknownDim;

TEST(Shape, Prints) {
  EXPECT_EQ(Shape().ToString(), "?");
  EXPECT_EQ(Shape{}.ToString(), "?");
  EXPECT_EQ(Shape(std::vector<std::int64_t>{}).ToString(), "[]");
  EXPECT_EQ((Shape{2, kAny, 0}.ToString()), "[2,?,0]");
  EXPECT_EQ(Shape::OfRank(2).ToString(), "[?,?]");
  EXPECT_EQ((TensorType{DType::kBFloat16, Shape{1, 3}}.ToString()), "bfloat16[1,3]");
  EXPECT_EQ(TensorType{}.ToString(), "unknown?");
}

TEST(Shape, SizeCountsElements) {
  EXPECT_EQ(Shape(std::vector<std::int64_t>{}).size(), 1);
  EXPECT_EQ((Shape{2, 3, 4}.size()), 24);
  EXPECT_EQ((Shape{2, 3, 4}.SizeOf(1, 2)), 3);
  EXPECT_EQ((Shape{2, 3, 4}.SizeOf(1, 1)), 1);
}

TEST(Shape, SizeRefusesOverflow) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_EQ((Shape{std::int64_t{1} << 31, std::int64_t{1} << 31}.size()), std::int64_t{1} << 62);
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { Shape({big, big}).size(); }), "more than 2^62 elements");
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { Shape({INT64_MAX, INT64_MAX, 2}).size(); }), "more than 2^62");
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] {
                    TensorType({DType::kFloat32, Shape{1 << 30, 1 << 30}}).bytes();
                  }),
                  "too large");
}

TEST(Shape, AZeroMakesTheSizeZeroWhereverItStands) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_EQ(Shape({0, big, big}).size(), 0);
  EXPECT_EQ(Shape({big, big, 0}).size(), 0);
}

TEST(Shape, SizeOfAnUnknownShapeIsOurMistake) {
  EXPECT_CONTAINS(ErrorOf<InternalError>([] { Shape().size(); }), "rank is unknown");
  EXPECT_CONTAINS(ErrorOf<InternalError>([] { Shape({2, kAny}).size(); }), "[2,?]");
}

TEST(Shape, RankZeroIsNotAnUnknownRank) {
  const Shape scalar(std::vector<std::int64_t>{});
  EXPECT_TRUE(scalar.fully_known());
  EXPECT_FALSE(Shape().fully_known());
  EXPECT_NE(scalar, Shape());
}

struct MergeCase {
  Shape a, b, merged;
  bool learns;
};

TEST(MergeShape, LearnsWhatTheOtherKnows) {
  const MergeCase cases[] = {
      {Shape(), Shape(), Shape(), false},     {Shape(), {2, kAny}, {2, kAny}, true},
      {{2, kAny}, Shape(), {2, kAny}, false}, {{2, kAny}, {kAny, 3}, {2, 3}, true},
      {{2, 3}, {kAny, 3}, {2, 3}, false},     {{0}, {0}, {0}, false},
  };
  for (const MergeCase& c : cases) {
    Shape into = c.a;
    bool changed = false;
    EXPECT_TRUE(MergeShape(&into, c.b, &changed));
    EXPECT_EQ(into, c.merged) << c.a.ToString() << " with " << c.b.ToString();
    EXPECT_EQ(changed, c.learns);
  }
}

TEST(MergeShape, AContradictionLeavesTheTargetAlone) {
  const std::pair<Shape, Shape> cases[] = {
      {{kAny, 3}, {2, 4}}, {{2}, {2, 2}}, {{0}, {1}}, {Shape(std::vector<std::int64_t>{}), {1}}};
  for (const auto& [a, b] : cases) {
    Shape into = a;
    bool changed = false;
    EXPECT_FALSE(MergeShape(&into, b, &changed));
    EXPECT_EQ(into, a);
    EXPECT_FALSE(changed);
  }
}

// Merging is commutative, and merging again learns nothing.
TEST(MergeShape, RandomShapes) {
  std::mt19937 random(7);
  const auto random_shape = [&] {
    if (random() % 6 == 0) return Shape();
    Shape shape = Shape::OfRank(static_cast<int>(random() % 3));
    for (int i = 0; i < shape.rank(); ++i) shape[i] = random() % 2 ? kAny : static_cast<std::int64_t>(random() % 2);
    return shape;
  };
  for (int i = 0; i < 2000; ++i) {
    const Shape a = random_shape(), b = random_shape();
    Shape ab = a, ba = b;
    bool changed = false, again = false;
    const bool possible = MergeShape(&ab, b, &changed);
    EXPECT_EQ(possible, MergeShape(&ba, a, &again));
    if (!possible) continue;
    EXPECT_EQ(ab, ba);
    EXPECT_EQ(changed, ab != a);
    again = false;
    EXPECT_TRUE(MergeShape(&ab, b, &again) && MergeShape(&ab, a, &again));
    EXPECT_FALSE(again);
  }
}

TEST(NormalizeAxis, CountsFromBothEnds) {
  EXPECT_EQ(NormalizeAxis(0, 3), 0);
  EXPECT_EQ(NormalizeAxis(2, 3), 2);
  EXPECT_EQ(NormalizeAxis(-1, 3), 2);
  EXPECT_EQ(NormalizeAxis(-3, 3), 0);
  for (const std::int64_t axis : {std::int64_t{3}, std::int64_t{-4}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(NormalizeAxis(axis, 3), std::nullopt);
  }
  EXPECT_EQ(NormalizeAxis(0, 0), std::nullopt);
}

}  // namespace
}  // namespace amp
