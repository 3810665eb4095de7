#include "nnvm/error.h"

#include <gtest/gtest.h>

namespace amp {
namespace {

TEST(NearMatches, ClosestFirst) {
  EXPECT_EQ(NearMatches("Convolutoin", {"Pooling", "Convolutions", "Convolution"}),
            "; did you mean 'Convolution', 'Convolutions'?");
  EXPECT_EQ(NearMatches("relu", {"a_long_unrelated_name"}), "");
  EXPECT_EQ(NearMatches("x", {}), "");
}

TEST(NearMatches, ANodeHasTheNamesOfItsOutputs) {
  EXPECT_EQ(NearMatches("conv1", {"bn1_output", "conv1_output", "conv1_weight"}),
            "; did you mean 'conv1_output', 'conv1_weight'?");
}

TEST(NearMatches, NamesAtMostThree) {
  EXPECT_EQ(NearMatches("fc", {"fc1", "fc2", "fc3", "fc4"}), "; did you mean 'fc1', 'fc2', 'fc3'?");
}

TEST(NearMatches, LongNamesCostLittle) {
  const std::string wanted(1 << 20, 'a');
  EXPECT_NE(NearMatches(wanted, {std::string(1 << 20, 'a') + "b"}), "");  // compared by their beginnings
}

TEST(JoinSome, CountsTheRest) {
  EXPECT_EQ(JoinSome({}), "");
  EXPECT_EQ(JoinSome({"a", "b"}), "a, b");
  EXPECT_EQ(JoinSome({"a", "b", "c", "d"}, 2), "a, b, ... (2 more)");
}

TEST(Quotable, EscapesAndCuts) {
  EXPECT_EQ(Quotable("plain 'text'"), "plain 'text'");
  EXPECT_EQ(Quotable(std::string_view("a\0b\n\x7f\xc3\xa9", 7)), "a\\x00b\\x0a\\x7f\\xc3\\xa9");
  EXPECT_EQ(Quotable(std::string(80, 'x')), std::string(80, 'x'));
  EXPECT_EQ(Quotable(std::string(81, 'x')), std::string(80, 'x') + "...");
  EXPECT_EQ(Quotable("abcdef", 3), "abc...");
}

TEST(Error, KindsAreErrors) {
  EXPECT_THROW(Throw<GraphError>("{} of {}", 1, 2), Error);
  try {
    Throw<UnsupportedError>("{} of {}", 1, 2);
  } catch (const UnsupportedError& error) {
    EXPECT_STREQ(error.what(), "1 of 2");
  }
}

}  // namespace
}  // namespace amp
