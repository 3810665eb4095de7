#include "passes/precision/rounding_limits.h"

#include <gtest/gtest.h>

#include "passes/decided.h"

namespace amp::testing {
namespace {

Symbol Scalar(const char* op, const std::string& name, const Symbol& data, const std::string& scalar) {
  return Op(op, name, {data}, {{"scalar", scalar}});
}
// Positions as a row of two.
Symbol Row(const char* start) {
  const std::string stop = std::to_string(std::stoi(start) + 2);
  const Symbol counted = Op("_arange", "count", {}, {{"start", start}, {"stop", stop}});
  return Op("Reshape", "row", {counted}, {{"shape", "(1, 2)"}});
}

TEST(RoundingLimits, CountsMayBeRoundedWhereTheTargetTellsThemApart) {
  EXPECT_CONTAINS(Decided(Dense2x2("fc", Row("255"))), "fc.data <- bfloat16: accumulates");
  EXPECT_CONTAINS(Decided(Dense2x2("fc", Row("256"))), "fc.data <- float32: integers row_output");
  EXPECT_CONTAINS(Decided(Dense2x2("fc", Row("2047")), {.target = DType::kFloat16}), "fc.data <- float16: accumulates");
  EXPECT_CONTAINS(Decided(Dense2x2("fc", Row("2048")), {.target = DType::kFloat16}),
                  "fc.data <- float32: integers row_output");
  // What is computed from them may exceed the limit where they themselves do not.
  const std::string doubled = Decided(Dense2x2("fc", Scalar("_mul_scalar", "twice", Row("200"), "2")));
  EXPECT_CONTAINS(doubled, "fc.data <- float32: integers twice_output");
}

// Positions that products of whole numbers make of a mask.
TEST(RoundingLimits, SumsOfCountsCountToo) {
  const auto decided = [](std::int64_t size) {
    const Symbol count = Op("_arange", "count", {}, {{"start", "0"}, {"stop", std::to_string(size)}});
    const Symbol mask = Op("Reshape", "mask", {Scalar("_lesser_scalar", "shown", count, "9")}, {{"shape", "(1, -1)"}});
    const Symbol positions =
        Op("dot", "positions", {mask, Op("_ones", "o", {}, {{"shape", fmt::format("({}, 2)", size)}})});
    return Decided(Dense2x2("fc", Scalar("_plus_scalar", "next", positions, "0")));
  };
  EXPECT_CONTAINS(decided(256), "fc.data <- bfloat16");
  EXPECT_CONTAINS(decided(257), "positions.lhs <- bfloat16");
  EXPECT_CONTAINS(decided(257), "positions.output -> float32");
  EXPECT_CONTAINS(decided(257), "fc.data <- float32: integers next_output");
}

TEST(RoundingLimits, PixelsMayBeRoundedAndScaled) {
  const Symbol pixels = Op("Cast", "c", {Var("x")}, {{"dtype", "float32"}});
  const Model model =
      MakeTyped(Dense2x2("fc", Scalar("_div_scalar", "s", pixels, "255")), {}, {{"x", {DType::kUInt8, {2, 2}}}});
  EXPECT_CONTAINS(PrintKinds(model.graph(), Decide(model, {})), "fc.data <- bfloat16: accumulates");
}

TEST(RoundingLimits, WhatIsUsedAsAnIndexIsNeverRounded) {
  const Symbol small = Row("1");
  const Symbol taken = Op("take", "t", {Var("table"), Op("transpose", "moved", {small})});
  EXPECT_CONTAINS(Decided(Symbol::Group({taken, Dense2x2("fc", small)})), "fc.data <- float32: integers row_output");
}

TEST(RoundingLimits, WhatChangesByWholeStepsReadsFloat32) {
  for (const char* op : {"floor", "round", "topk", "argsort"}) {
    const Symbol scaled = Scalar("_mul_scalar", "scaled", Dense2x2("fc", Var("x")), "3");
    const Symbol moved = Op("transpose", "moved", {scaled});
    const std::string text = Decided(Symbol::Group({Op(op, "step", {moved}), Dense2x2("after", moved)}));
    EXPECT_CONTAINS(text, "step.data <- float32");
    EXPECT_CONTAINS(text, "scaled.output -> float32: exact scaled_output");
    EXPECT_CONTAINS(text, "moved.output -> float32: exact moved_output");
    // A product itself may read low operands.
    EXPECT_CONTAINS(text, "fc.data <- bfloat16");
    EXPECT_CONTAINS(text, "fc.output -> float32");
    EXPECT_CONTAINS(text, "after.data <- bfloat16");  // so may others
  }
  const std::string text = Decided(Op("_equal", "same", {Dense2x2("fc", Var("x")), Var("y")}));
  EXPECT_CONTAINS(text, "fc.output -> float32");
  EXPECT_CONTAINS(text, "same.lhs <- float32: exact");
}

TEST(RoundingLimits, ProductsBeforeLargeAnglesStayFloat32) {
  const Symbol angle = Scalar("_mul_scalar", "angle", Dense2x2("fc", Dense2x2("before", Var("x"))), "0.5");
  const std::string text = Decided(Dense2x2("after", Op("sin", "wave", {angle})));
  EXPECT_CONTAINS(text, "before.data <- bfloat16");
  EXPECT_CONTAINS(text, "fc.data <- float32: amplified angle_output");
  EXPECT_CONTAINS(text, "angle.data <- float32: amplified angle_output");
  EXPECT_CONTAINS(text, "wave.data <- float32: amplified angle_output");
  EXPECT_CONTAINS(text, "after.data <- bfloat16: accumulates");
}

TEST(RoundingLimits, SmallAnglesAreLikeOtherNumbers) {
  const Symbol small = Scalar("_mul_scalar", "angle", Op("tanh", "t", {Dense2x2("fc", Var("x"))}), "7");
  EXPECT_CONTAINS(Decided(Dense2x2("after", Op("sin", "wave", {small}))), "wave.data <- bfloat16");
  const Symbol large = Scalar("_mul_scalar", "angle", Op("tanh", "t", {Dense2x2("fc", Var("x"))}), "70");
  EXPECT_CONTAINS(Decided(Dense2x2("after", Op("sin", "wave", {large}))), "fc.data <- float32: amplified");
}

TEST(RoundingLimits, ProductsThatAreForcedGoLow) {
  const Symbol wave = Op("sin", "wave", {Dense2x2("fc", Var("x"))});
  ConvertOptions options;
  options.force = {{"fc", DType::kBFloat16}};
  EXPECT_CONTAINS(Decided(wave, options), "fc.data <- bfloat16: user");
}

Symbol Distance(const Symbol& a, const Symbol& b, const Symbol& product) {
  const auto length = [](const std::string& name, const Symbol& x) {
    return Op("sum", name, {Op("square", name + "_squares", {x})}, {{"axis", "1"}, {"keepdims", "True"}});
  };
  const Symbol first = Op("broadcast_add", "lengths", {length("na", a), Op("transpose", "nt", {length("nb", b)})});
  return Op("broadcast_sub", "distance", {first, Scalar("_mul_scalar", "twice", product, "2")});
}

TEST(RoundingLimits, ProductsInDistancesStayFloat32) {
  const Symbol a = Dense2x2("a", Dense2x2("before", Var("x"))), b = Var("b");
  const Symbol product = Op("dot", "product", {a, b}, {{"transpose_b", "True"}});
  const std::string text = Decided(Dense2x2("after", Distance(a, b, product)));
  EXPECT_CONTAINS(text, "product.lhs <- float32: cancels distance_output");
  EXPECT_CONTAINS(text, "na_squares.data <- float32: cancels distance_output");
  EXPECT_CONTAINS(text, "a.data <- float32: cancels distance_output");
  EXPECT_CONTAINS(text, "before.data <- bfloat16");
  EXPECT_CONTAINS(text, "after.data <- bfloat16");
  // A sum with lengths of other tensors is none.
  EXPECT_CONTAINS(Decided(Distance(Var("c"), Var("d"), product)), "product.lhs <- bfloat16: accumulates");
}

TEST(RoundingLimits, SmallDivisorsStayFloat32) {
  const Symbol guarded = Scalar("_plus_scalar", "guarded", Op("relu", "r", {Dense2x2("fc", Var("x"))}), "1e-12");
  const Symbol quotient = Dense2x2("after", Op("elemwise_div", "q", {Dense2x2("other", Var("y")), guarded}));
  EXPECT_CONTAINS(Decided(quotient, {.target = DType::kFloat16}), "guarded.output -> float32: vanishes guarded_output");
  EXPECT_CONTAINS(Decided(quotient, {.target = DType::kFloat16}), "q.rhs <- float32: vanishes");
  EXPECT_CONTAINS(Decided(quotient), "q.rhs <- bfloat16");  // bfloat16 has numbers as small as that
  // Nothing is known of the numbers themselves.
  const Symbol plain = Scalar("_plus_scalar", "guarded", Dense2x2("fc", Var("x")), "1e-12");
  const std::string text = Decided(Dense2x2("after", Op("log", "l", {plain})), {.target = DType::kFloat16});
  EXPECT_CONTAINS(text, "guarded.output -> float32: singular guarded_output");
  EXPECT_CONTAINS(text, "fc.data <- float32: singular guarded_output");
}

TEST(RoundingLimits, WhatMayReachAPoleIsComputedInFloat32) {
  const Symbol fc = Dense2x2("fc", Dense2x2("before", Var("x")));
  const Symbol s = Op("sigmoid", "s", {fc});
  const std::string text =
      Decided(Symbol::Group({Op("log", "l", {Scalar("_rminus_scalar", "rest", s, "1")}), Dense2x2("after", s)}));
  for (const char* name : {"l.data", "rest.data", "s.data", "fc.data"}) {
    EXPECT_CONTAINS(text, std::string(name) + " <- float32: singular");
  }
  EXPECT_CONTAINS(text, "before.data <- bfloat16");  // only up to the product
  EXPECT_CONTAINS(text, "after.data <- bfloat16");   // which casts it itself
  // Terms of one sign do not cancel, and what is far from 0 stays so.
  const Symbol squares = Op("mean", "m", {Op("square", "sq", {fc})}, {{"axis", "1"}, {"keepdims", "True"}});
  const Symbol norm = Op("sqrt", "root", {Scalar("_plus_scalar", "guarded", squares, "1e-5")});
  EXPECT_CONTAINS(Decided(Op("broadcast_div", "q", {fc, norm})), "fc.data <- bfloat16");
  const Symbol far = Scalar("_rminus_scalar", "rest", Scalar("_mul_scalar", "half", s, "0.5"), "1");
  EXPECT_CONTAINS(Decided(Op("log", "l", {far})), "fc.data <- bfloat16");
}

TEST(RoundingLimits, PositionsAreComputedInFloat32) {
  const Symbol product = Dense2x2("fc", Var("x"));
  const Symbol place = Op("Cast", "whole", {Op("round", "r", {product})}, {{"dtype", "int32"}});
  const std::string text = Decided(Op("take", "t", {Var("table"), place}));
  EXPECT_CONTAINS(text, "fc.data <- float32: integers");
  ConvertOptions options;
  options.force = {{"fc", DType::kBFloat16}};
  EXPECT_THROW(Decided(Op("take", "t", {Var("table"), place}), options), ArgumentError);
  // What only decides between two numbers is no position.
  const Symbol chosen = Op("where", "w", {Scalar("_greater_scalar", "g", product, "0"), Var("a"), Var("b")});
  EXPECT_CONTAINS(Decided(chosen), "fc.data <- bfloat16");
}

TEST(RoundingLimits, LargeNumbersAreNoFloat16) {
  const auto decided = [](float largest, DType target) {
    const Symbol scaled = Op("broadcast_mul", "m", {Dense2x2("fc", Var("x")), Var("scale")});
    const Model typed = MakeTyped(Dense2x2("after", scaled), {"scale"});
    ModelParams params;
    params.args["scale"] = NDArray::Zeros(DType::kFloat32, Shape{2, 2});
    params.args["scale"].As<float>()[3] = largest;
    const Model model(typed.graph(), typed.variable_types(), {}, std::move(params));
    ConvertOptions options;
    options.target = target;
    return PrintKinds(model.graph(), Decide(model, options));
  };
  EXPECT_CONTAINS(decided(7e4F, DType::kFloat16), "m.rhs <- float32: overflows");
  EXPECT_CONTAINS(decided(6e4F, DType::kFloat16), "m.rhs <- float32: grows m_output");  // the product may overflow
  EXPECT_CONTAINS(decided(7e4F, DType::kBFloat16), "m.rhs <- bfloat16");
  // A mask of numbers that are not known.
  const Symbol mask = Scalar("_mul_scalar", "mask", Op("relu", "r", {Dense2x2("fc", Var("x"))}), "-1e9");
  EXPECT_CONTAINS(Decided(Dense2x2("after", mask), {.target = DType::kFloat16}),
                  "mask.output -> float32: overflows mask_output");
  EXPECT_CONTAINS(Decided(Dense2x2("after", mask)), "mask.output -> bfloat16");
}

TEST(RoundingLimits, ExponentialsThatAreAddedUpStayFloat32) {
  const auto weights = [](const Symbol& scores) {
    const Symbol powers = Op("exp", "powers", {scores});
    const Symbol total = Op("sum", "total", {Op("transpose", "t", {powers})}, {{"axis", "1"}});
    return Symbol::Group({Dense2x2("after", powers), total});
  };
  const std::string text = Decided(weights(Dense2x2("fc", Var("x"))));
  EXPECT_CONTAINS(text, "powers.data <- float32: summed powers_output");
  EXPECT_CONTAINS(text, "fc.data <- bfloat16");
  const std::string similar = Decided(weights(Op("tanh", "small", {Dense2x2("fc", Var("x"))})));
  EXPECT_CONTAINS(similar, "powers.data <- bfloat16");
}

TEST(RoundingLimits, AttentionWithMasksKeepsItsProducts) {
  for (const char* value : {"-1e9", "-10000"}) {
    const Symbol scores =
        Op("dot", "scores", {Dense2x2("q", Var("x")), Dense2x2("k", Var("x"))}, {{"transpose_b", "True"}});
    const Symbol shown = Op("_lesser", "shown", {Var("i"), Var("n")});
    const Symbol mask = Scalar("_mul_scalar", "mask", Scalar("_rminus_scalar", "hidden", shown, "1"), value);
    const Symbol weights = Op("softmax", "weights", {Op("elemwise_add", "masked", {scores, mask})});
    const Symbol read = Op("dot", "read", {weights, Dense2x2("v", Var("x"))});
    for (const DType target : {DType::kBFloat16, DType::kFloat16}) {
      const std::string text = Decided(read, {.target = target});
      for (const char* product : {"q.data", "k.data", "v.data", "scores.lhs", "read.lhs"}) {
        EXPECT_CONTAINS(text, std::string(product) + " <- " + NameOf(target));
      }
    }
  }
}

TEST(RoundingLimits, MXNetsPolicyKnowsNothingOfThis) {
  ConvertOptions options;
  options.policy = PrecisionPolicy::kMXNet;
  const std::string text = Decided(Op("sin", "wave", {Dense2x2("fc", Row("300"))}), options);
  EXPECT_CONTAINS(text, "fc.data <- bfloat16");
}

TEST(RoundingLimits, ReasonsStateTheInterval) {
  const Model model = MakeTyped(Dense2x2("fc", Row("256")));
  EXPECT_CONTAINS(Decide(model, {}).Print(model.graph()),
                  "row_output counts as integers, which are never rounded (whole numbers in [256, 257])");
}

}  // namespace
}  // namespace amp::testing
