#include "passes/precision/value_ranges.h"

#include <gtest/gtest.h>

#include <cmath>

#include "passes/typed.h"

namespace amp::testing {
namespace {

NDArray Floats(const std::vector<float>& values) {
  NDArray array(DType::kFloat32, Shape{static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), array.As<float>());
  return array;
}

// The interval of the symbol's only output.
ValueRange RangeOf(const Symbol& symbol, const TypeMap& known = {}, ModelParams params = {}) {
  TypeMap types = known;
  for (const auto& [name, array] : params.args) types[name] = array.type();
  const Model typed = MakeTyped(symbol, ParameterNames(params), types);
  const Model model(typed.graph(), typed.variable_types(), {}, std::move(params));
  return FindValueRanges(model)[model.graph().EntryOf(model.graph().outputs()[0])];
}

Symbol Counted(const char* stop) { return Op("_arange", "positions", {}, {{"start", "0"}, {"stop", stop}}); }

TEST(ValueRanges, ConstantsAndCounts) {
  EXPECT_EQ(RangeOf(Counted("512")), ValueRange::Between(0, 511, true));
  EXPECT_EQ(RangeOf(Op("_arange", "a", {}, {{"start", "1"}, {"stop", "2"}, {"step", "0.25"}})).is_integer, false);
  EXPECT_EQ(RangeOf(Op("_full", "f", {}, {{"shape", "(2,)"}, {"value", "7"}})), ValueRange::Of(7));
  EXPECT_EQ(RangeOf(Op("shape_array", "s", {Var("x")}), {{"x", {DType::kFloat32, {4, 9}}}}),
            ValueRange::Between(4, 9, true));
  EXPECT_EQ(RangeOf(Op("argmax", "a", {Var("x")}, {{"axis", "1"}}), {{"x", {DType::kFloat32, {4, 9}}}}),
            ValueRange::Between(0, 8, true));
  EXPECT_EQ(RangeOf(Op("one_hot", "o", {Var("x")}, {{"depth", "5"}})), ValueRange::Between(0, 1, true));
  EXPECT_EQ(RangeOf(Op("_equal", "e", {Var("x"), Var("y")})), ValueRange::Between(0, 1, true));
}

TEST(ValueRanges, InputsAreWhatTheirDTypesAllow) {
  const Symbol pixels = Op("Cast", "c", {Var("x")}, {{"dtype", "float32"}});
  EXPECT_EQ(RangeOf(pixels, {{"x", {DType::kUInt8, {2}}}}), ValueRange::Between(0, 255, true));
  EXPECT_EQ(RangeOf(Op("relu", "r", {Var("x")})), ValueRange::Between(0, ValueRange::kInfinity));
  EXPECT_EQ(RangeOf(Op("negative", "n", {Var("x")})), ValueRange());
}

TEST(ValueRanges, IndicesOfAnEmbeddingAreItsRows) {
  const Symbol ids = Var("ids");
  const Symbol rows = Op("Embedding", "e", {ids, Var("w")}, {{"input_dim", "30"}, {"output_dim", "2"}});
  const Symbol both = Symbol::Group({Op("_mul_scalar", "m", {ids}, {{"scalar", "2"}}), rows});
  EXPECT_EQ(RangeOf(both, {{"w", {DType::kFloat32, {30, 2}}}}), ValueRange::Between(0, 58, true));
}

TEST(ValueRanges, ParametersAreWhatTheyHold) {
  EXPECT_EQ(RangeOf(Op("_copy", "c", {Var("p")}), {}, {{{"p", Floats({-3, 5, 2})}}, {}}),
            ValueRange::Between(-3, 5, true));
  EXPECT_EQ(RangeOf(Op("_copy", "c", {Var("p")}), {}, {{{"p", Floats({NAN, 0.5F, 2})}}, {}}),
            ValueRange::Between(0.5, 2));
  EXPECT_EQ(RangeOf(Op("_copy", "c", {Var("p")}), {}, {{{"p", Floats({NAN})}}, {}}), ValueRange());
}

TEST(ValueRanges, ArithmeticOfIntervals) {
  const Symbol wave = Op("sin", "s", {Var("x")});
  EXPECT_EQ(RangeOf(Op("_rminus_scalar", "m", {Counted("10")}, {{"scalar", "20"}})), ValueRange::Between(11, 20, true));
  const ValueRange scaled = RangeOf(Op("_mul_scalar", "m", {wave}, {{"scalar", "-3"}}));
  EXPECT_NEAR(scaled.low, -3, 1e-5);
  EXPECT_NEAR(scaled.high, 3, 1e-5);
  const ValueRange quotient =
      RangeOf(Op("_rdiv_scalar", "q", {Op("_plus_scalar", "p", {wave}, {{"scalar", "2"}})}, {{"scalar", "1"}}));
  EXPECT_NEAR(quotient.low, 1.0 / 3, 1e-5);
  EXPECT_NEAR(quotient.high, 1, 1e-5);
  EXPECT_EQ(RangeOf(Op("reciprocal", "r", {wave})), ValueRange());
  // Sums of a product: 2 terms of at most 1.
  const ValueRange product =
      RangeOf(Op("FullyConnected", "fc", {wave, wave}, {{"num_hidden", "2"}, {"no_bias", "True"}}));
  EXPECT_NEAR(product.high, 2, 1e-5);
}

TEST(ValueRanges, RoundingWidensButKeepsSignsAndWholeNumbers) {
  EXPECT_EQ(RoundedTo({0, 256, true}, DType::kBFloat16), ValueRange::Between(0, 256, true));
  EXPECT_GE(RoundedTo({0, 257, true}, DType::kBFloat16).high, 258);
  EXPECT_EQ(RoundedTo({0, 1e-30}, DType::kFloat32).low, 0);
  EXPECT_EQ(RoundedTo({1, 7e4}, DType::kFloat16).high, ValueRange::kInfinity);
  EXPECT_EQ(RoundedTo({250, 260, true}, DType::kUInt8), ValueRange::OfDType(DType::kUInt8));
  EXPECT_EQ(ValueRange::Between(0, 511, true).ToString(), "whole numbers in [0, 511]");
}

}  // namespace
}  // namespace amp::testing
