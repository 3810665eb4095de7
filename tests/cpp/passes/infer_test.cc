#include "passes/infer.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/symbol_json.h"
#include "passes/fake_rules.h"

namespace amp {
namespace {

using testing::EntryOf;
using testing::ErrorOf;
using testing::NodeOf;
using testing::RuleOp;
using testing::Var;

constexpr std::int64_t kAny = kUnknownDim;

TensorType F32(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

// "x: float32[2,3]\n...", by entry.
std::string Print(const Graph& graph, const Types& types) {
  std::string text;
  for (EntryId e = 0; e < graph.num_entries(); ++e) text += graph.EntryName(e) + ": " + types[e].ToString() + "\n";
  return text;
}
std::string Partial(const Symbol& symbol, const TypeMap& known = {}) {
  const Graph graph = symbol.ToGraph();
  return Print(graph, InferPartial(graph, known));
}
std::string Refusal(const Symbol& symbol, const TypeMap& known) {
  return ErrorOf<GraphError>([&] { InferPartial(symbol.ToGraph(), known); });
}

TEST(Infer, Forward) {
  EXPECT_EQ(Partial(RuleOp("_rule_exp", "e", {RuleOp("_rule_move", "m", {Var("x")})}), {{"x", F32({2, 3})}}),
            "x: float32[2,3]\nm_output: float32[2,3]\ne_output: float32[2,3]\n");
}

TEST(Infer, BackwardAndSideways) {
  // What is known of y reaches x through the sum, and w through the product.
  const Symbol m = RuleOp("_rule_gemm", "m", {Var("x"), Var("w")});
  EXPECT_EQ(Partial(RuleOp("_rule_add", "s", {m, Var("y")}), {{"y", F32({4})}}),
            "x: float32[4]\nw: float32[4]\nm_output: float32[4]\ny: float32[4]\ns_output: float32[4]\n");
}

TEST(Infer, BothWaysAndEachHalfOnItsOwn) {
  const Symbol s = RuleOp("_rule_add", "s", {Var("x"), Var("y")});
  EXPECT_EQ(Partial(s, {{"x", {DType::kFloat64, Shape()}}, {"y", {DType::kUnknown, Shape{2, kAny}}}}),
            "x: float64[2,?]\ny: float64[2,?]\ns_output: float64[2,?]\n");
  EXPECT_EQ(Partial(s, {{"x", F32({kAny, 3})}, {"y", F32({2, kAny})}}),
            "x: float32[2,3]\ny: float32[2,3]\ns_output: float32[2,3]\n");
}

TEST(Infer, KnowsNothingWithoutHints) {
  EXPECT_EQ(Partial(RuleOp("_rule_exp", "e", {Var("x")})), "x: unknown?\ne_output: unknown?\n");
}

TEST(Infer, VariableAttributes) {
  const Symbol x = Var("x", {{"__shape__", "(0, 3)"}, {"__dtype__", "12"}});
  EXPECT_EQ(Partial(x), "x: bfloat16[?,3]\n");  // 0 is an unknown size
  EXPECT_EQ(Partial(Var("x", {{"__shape__", "()"}, {"__dtype__", "-1"}})), "x: unknown?\n");
  EXPECT_EQ(Partial(Var("x", {{"__dtype__", "float16"}})), "x: float16?\n");
}

TEST(Infer, ExplicitOutranksAttributes) {
  const Symbol x = Var("x", {{"__shape__", "(5, 3)"}, {"__dtype__", "0"}});
  EXPECT_EQ(Partial(x, {{"x", {DType::kBFloat16, Shape{1, 1}}}}), "x: bfloat16[1,1]\n");
  EXPECT_EQ(Partial(x, {{"x", {DType::kBFloat16, Shape()}}}), "x: bfloat16[5,3]\n");    // each half on its own
  EXPECT_EQ(Partial(x, {{"x", {DType::kUnknown, Shape{0, 3}}}}), "x: float32[0,3]\n");  // here 0 is a size
}

TEST(Infer, RefusesAttributesThatAreNone) {
  EXPECT_EQ(Refusal(Var("x", {{"__shape__", "two"}}), {}),
            "variable 'x': attribute __shape__: expected a tuple of integers, got 'two'");
  EXPECT_EQ(Refusal(Var("x", {{"__dtype__", "77"}}), {}),
            "variable 'x': attribute __dtype__: expected a dtype code or name, got '77'");
}

TEST(Infer, RefusesNamesThatAreNoVariables) {
  EXPECT_EQ(ErrorOf<ArgumentError>([] {
              InferPartial(Var("data").ToGraph(), {{"dta", F32({1})}});
            }),
            "the graph has no variable 'dta'; did you mean 'data'?");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] {
                    InferPartial(RuleOp("_rule_exp", "e", {Var("x")}).ToGraph(), {{"e", F32({1})}});
                  }),
                  "no variable 'e'");
}

TEST(Infer, ContradictionsNameTheNodeTheExpectedAndTheActual) {
  const Symbol s = RuleOp("_rule_add", "s", {Var("x"), Var("y")});
  EXPECT_EQ(Refusal(s, {{"x", F32({2})}, {"y", F32({3})}}), "_rule_add 's': expected rhs of shape [2], got [3]");
  EXPECT_EQ(Refusal(s, {{"x", F32({2})}, {"y", {DType::kInt32, Shape()}}}),
            "_rule_add 's': expected rhs of dtype float32, got int32");
  const Symbol two = RuleOp("_rule_add", "t", {RuleOp("_rule_exp", "e", {Var("x")}), Var("y")});
  EXPECT_CONTAINS(Refusal(two, {{"x", F32({2})}, {"y", F32({3})}}), "[2]");
  EXPECT_EQ(Refusal(RuleOp("_rule_exp", "e", {Var("x")}), {{"x", {DType::kInt8, Shape()}}}),
            "_rule_exp 'e': expected data of a float dtype, got int8");
}

TEST(Infer, RefusesSizesBeyondReason) {
  const std::int64_t huge = (std::int64_t{1} << 40) + 1;
  EXPECT_CONTAINS(Refusal(Var("x"), {{"x", F32({huge})}}), "size above 2^40");
  EXPECT_CONTAINS(Refusal(Var("x", {{"__shape__", "(9223372036854775807,)"}}), {}), "size above 2^40");
}

TEST(Infer, ReportsEverythingUnresolvedAtOnce) {
  const Symbol s =
      Symbol::Group({RuleOp("_rule_exp", "e", {Var("x")}), RuleOp("_rule_exp", "f", {Var("y")}), Var("z")});
  EXPECT_EQ(ErrorOf<GraphError>([&] {
              Infer(s.ToGraph(), {{"z", F32({1})}, {"y", {DType::kFloat32, Shape{2, kAny}}}});
            }),
            "cannot infer the type of 4 of 5 tensors: x (unknown?), e_output (unknown?), y (float32[2,?]), "
            "f_output (float32[2,?]); the types of these variables would help: x, y");
}

TEST(Infer, CompleteTypesComeBack) {
  const Graph graph = RuleOp("_rule_bn", "b", {Var("x")}).ToGraph();
  EXPECT_EQ(Print(graph, Infer(graph, {{"x", {DType::kBFloat16, Shape{2}}}})),
            "x: bfloat16[2]\nb_mean: float32[2]\nb_output: bfloat16[2]\nb_saved: float32[2]\n");
}

TEST(Infer, OneEntryInTwoSlotsLearnsThroughBoth) {
  const Symbol x = Var("x");
  EXPECT_EQ(Partial(RuleOp("_rule_halves", "h", {x, x})).substr(0, 16), "x: float32[2,3]\n");
}

TEST(Infer, OneEntryInTwoSlotsCannotContradictItself) {
  testing::RegisterRuleOps();
  static const bool registered = [] {
    RegisterOp<NoParam>("_rule_clash")
        .Inputs({"lhs", "rhs"})
        .Set(ShapeRule{[](ShapeRelation&) {}})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.In(0, DType::kFloat32);
          r.In(1, DType::kInt32);
        }});
    return true;
  }();
  ASSERT_TRUE(registered);
  const Symbol x = Var("x", {{"__shape__", "(1,)"}});
  const std::string error = Refusal(RuleOp("_rule_clash", "c", {x, x}), {});
  EXPECT_CONTAINS(error, "_rule_clash 'c'");
  EXPECT_CONTAINS(error, "float32");
  EXPECT_CONTAINS(error, "int32");
}

TEST(Infer, ALongChainTakesLinearlyManyCalls) {
  constexpr int kNodes = 100000;
  Symbol chain = Var("x");
  for (int i = 0; i < kNodes; ++i) chain = RuleOp("_rule_count", "n", {chain});
  const Symbol both = RuleOp("_rule_add", "s", {chain, Var("y")});
  for (const char* known : {"x", "y"}) {  // forward, then backward through the whole chain
    testing::rule_calls = 0;
    const Graph graph = both.ToGraph();
    const Types types = Infer(graph, {{known, F32({3})}});
    EXPECT_EQ(types[0], F32({3}));
    EXPECT_LE(testing::rule_calls, 4 * kNodes) << known;
  }
}

TEST(Infer, TheOrderOfNodesInAFileDoesNotMatter) {
  testing::RegisterRuleOps();
  const char* forward = R"({"nodes":[{"op":"null","name":"x","inputs":[]},{"op":"null","name":"y","inputs":[]},
      {"op":"_rule_exp","name":"e","inputs":[[0,0,0]]},{"op":"_rule_add","name":"s","inputs":[[2,0,0],[1,0,0]]}],
      "arg_nodes":[0,1],"heads":[[3,0,0]]})";
  const char* backward = R"({"nodes":[{"op":"_rule_add","name":"s","inputs":[[1,0,0],[2,0,0]]},
      {"op":"_rule_exp","name":"e","inputs":[[3,0,0]]},{"op":"null","name":"y","inputs":[]},
      {"op":"null","name":"x","inputs":[]}],"arg_nodes":[3,2],"heads":[[0,0,0]]})";
  const TypeMap known{{"y", F32({7})}};
  EXPECT_EQ(Partial(ParseSymbolJson(forward, "f"), known), Partial(ParseSymbolJson(backward, "b"), known));
}

TEST(Infer, OperatorsWithoutRulesStayUnknown) {
  EXPECT_EQ(Partial(RuleOp("_rule_none", "n", {Var("x")}), {{"x", F32({1})}}), "x: float32[1]\nn_output: unknown?\n");
}

TEST(DTypeAttr, SaysWhatTheVariableSays) {
  EXPECT_EQ(DTypeAttr(*NodeOf(Var("x"))), DType::kUnknown);
  EXPECT_EQ(DTypeAttr(*NodeOf(Var("x", {{"__dtype__", "4"}}))), DType::kInt32);
  EXPECT_EQ(DTypeAttr(*NodeOf(Var("x", {{"__dtype__", "None"}}))), DType::kUnknown);
}

Symbol GemmWriting(const std::string& out_dtype) {
  return RuleOp("_rule_gemm", "g", {Var("x"), Var("w")}, {{kOutDTypeAttr, out_dtype}});
}

TEST(OutDType, TheOutputIsDeclaredAndTheInputsAgreeAmongThemselves) {
  EXPECT_EQ(Partial(GemmWriting("float32"), {{"x", {DType::kBFloat16, Shape{2}}}}),
            "x: bfloat16[2]\nw: bfloat16[2]\ng_output: float32[2]\n");
  EXPECT_EQ(Partial(GemmWriting("bfloat16"), {{"w", F32({2})}}),
            "x: float32[2]\nw: float32[2]\ng_output: bfloat16[2]\n");
  EXPECT_EQ(Partial(GemmWriting("float16")), "x: unknown?\nw: unknown?\ng_output: float16?\n");
  // Nothing is left to learn about dtypes, shapes are: inference ends all the same.
  EXPECT_EQ(Partial(GemmWriting("float32"), {{"x", {DType::kBFloat16, Shape{2, kAny}}}}),
            "x: bfloat16[2,?]\nw: bfloat16[2,?]\ng_output: float32[2,?]\n");
}

TEST(OutDType, IsNoHintForTheInputs) {
  const Symbol sum = RuleOp("_rule_add", "s", {GemmWriting("float32"), Var("y")});
  EXPECT_EQ(Partial(sum), "x: unknown?\nw: unknown?\ng_output: float32?\ny: float32?\ns_output: float32?\n");
  EXPECT_CONTAINS(Refusal(sum, {{"y", {DType::kBFloat16, Shape()}}}), "float32");
  EXPECT_EQ(Refusal(GemmWriting("float32"), {{"x", {DType::kInt8, Shape()}}}),
            "_rule_gemm 'g': expected data of a float dtype, got int8");
  EXPECT_EQ(Refusal(GemmWriting("float32"), {{"x", F32({})}, {"w", {DType::kBFloat16, Shape()}}}),
            "_rule_gemm 'g': expected weight of dtype float32, got bfloat16");
}

TEST(OutDType, ContradictsWhatReadersKnow) {
  // The sum is visited first: it learns bfloat16 from y and asks it of g.
  const Symbol sum = RuleOp("_rule_add", "s", {Var("y"), GemmWriting("float32")});
  EXPECT_CONTAINS(Refusal(sum, {{"y", {DType::kBFloat16, Shape()}}}), "bfloat16");
}

TEST(OutDType, RefusesWhatIsNoFloatDTypeAndWhatDoesNotAccumulate) {
  for (const char* value : {"int32", "bool", "12", "", "None", "float33", "Float32", " float32"}) {
    EXPECT_EQ(Refusal(GemmWriting(value), {}),
              fmt::format("_rule_gemm 'g': attribute __out_dtype__: expected the name of a "
                          "float dtype, got '{}'",
                          value));
  }
  EXPECT_EQ(Refusal(RuleOp("_rule_exp", "e", {Var("x")}, {{kOutDTypeAttr, "float32"}}), {}),
            "_rule_exp 'e': attribute __out_dtype__: only operators that accumulate products and softmax take it");
  EXPECT_EQ(Partial(RuleOp("_rule_exp", "e", {Var("x")}, {{"__out_type__", "int3"}}), {{"x", F32({1})}}),
            "x: float32[1]\ne_output: float32[1]\n");  // other hidden attributes are notes
  EXPECT_EQ(Partial(Var("x", {{kOutDTypeAttr, "float32"}})), "x: unknown?\n");
}

TEST(OutDType, SurvivesAFile) {
  const Symbol read = ParseSymbolJson(ToSymbolJson(GemmWriting("float32")), "test.json");
  EXPECT_EQ(*NodeOf(read)->FindAttr(kOutDTypeAttr), "float32");
  EXPECT_EQ(Partial(read, {{"x", {DType::kBFloat16, Shape{2}}}}),
            "x: bfloat16[2]\nw: bfloat16[2]\ng_output: float32[2]\n");
}

TEST(OutputDTypes, FollowsTheDeclaredOutput) {
  std::string why;
  using V = std::vector<DType>;
  EXPECT_EQ(OutputDTypes(*NodeOf(GemmWriting("float32")), {DType::kBFloat16, DType::kBFloat16}, &why),
            V{DType::kFloat32});
  EXPECT_EQ(OutputDTypes(*NodeOf(GemmWriting("float32")), {DType::kBFloat16, DType::kFloat32}, &why), V{});
  EXPECT_EQ(why, "_rule_gemm 'g': expected weight of dtype bfloat16, got float32");
  EXPECT_EQ(OutputDTypes(*NodeOf(GemmWriting("int8")), {DType::kFloat32, DType::kFloat32}, &why), V{});
  EXPECT_CONTAINS(why, "__out_dtype__");
}

TEST(OutputDTypes, AsksOneNode) {
  std::string why;
  const Symbol norm = RuleOp("_rule_bn", "b", {Var("x")});
  using V = std::vector<DType>;
  EXPECT_EQ(OutputDTypes(*NodeOf(norm), {DType::kBFloat16, DType::kFloat32}, &why),
            (V{DType::kBFloat16, DType::kFloat32}));
  EXPECT_EQ(OutputDTypes(*NodeOf(norm), {DType::kBFloat16, DType::kBFloat16}, &why), V{});
  EXPECT_EQ(why, "_rule_bn 'b': expected mean of dtype float32, got bfloat16");
  EXPECT_EQ(OutputDTypes(*NodeOf(RuleOp("_rule_none", "n", {Var("x")})), {DType::kFloat32}, &why), V{});
  EXPECT_CONTAINS(why, "do not settle the dtype");
}

}  // namespace
}  // namespace amp
