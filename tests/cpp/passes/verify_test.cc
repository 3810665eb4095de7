// V1 (schema) and what V5 says of readers cannot be breached: Node refuses such nodes when they are made
// (tests/cpp/nnvm/node_test.cc). So does it refuse the half of V2 that says "only variables feed mutable slots".
#include "passes/verify.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "passes/fake_rules.h"

namespace amp {
namespace {

using testing::ErrorOf;
using testing::RuleOp;
using testing::Var;

std::string Breaches(const Symbol& symbol) { return FindViolations(symbol.ToGraph()); }

TEST(Verify, ALegalGraphHasNoBreaches) {
  const Graph graph = RuleOp("_rule_gemm", "g", {RuleOp("_rule_bn", "b", {Var("x")}), Var("w")}).ToGraph();
  const Types types = Infer(graph, {{"x", {DType::kFloat32, Shape{2}}}});
  EXPECT_EQ(FindViolations(graph), "");
  EXPECT_EQ(FindViolations(graph, &types), "");
}

TEST(Verify, V2StatesFeedMutableSlotsOnly) {
  const Symbol m = Var("m");
  EXPECT_EQ(Breaches(RuleOp("_rule_add", "s", {RuleOp("_rule_bn", "b", {Var("x"), m}), m})),
            "V2: _rule_add 's' reads the state variable 'm' through an ordinary input\n");
}

TEST(Verify, V3VariablesHaveNamesOfTheirOwn) {
  EXPECT_EQ(Breaches(RuleOp("_rule_add", "s", {Var("x"), Var("x")})), "V3: two variables are named 'x'\n");
}

TEST(Verify, V4OperatorsHaveRules) {
  EXPECT_EQ(Breaches(RuleOp("_rule_none", "n", {Var("x")})), "V4: operator _rule_none has no inference rules\n");
}

TEST(Verify, V5ForwardNodesStandForForwardNodes) {
  const auto marked = [](Phase inner, Phase outer) {
    const NodePtr x = Node::Variable("x0");
    const auto op = [](const char* name) { return &OpRegistry::Get().Require(kMXNetDomain, name); };
    const NodePtr product = Node::Make({op("batch_dot"), "p", {}, {{x, 0}, {x, 0}}, {}, inner});
    const NodePtr fused =
        Node::Make({op("_sg_onednn_batch_dot"), "f", {}, {{Node::Variable("x"), 0}}, {}, outer, {{{product, 0}}}});
    return Graph({{fused, 0}});
  };
  EXPECT_EQ(FindViolations(marked(Phase::kBackward, Phase::kForward)),
            "V5: _sg_onednn_batch_dot 'f' stands for batch_dot 'p'\n");
  EXPECT_EQ(FindViolations(marked(Phase::kBackward, Phase::kBackward)), "");
  EXPECT_EQ(FindViolations(marked(Phase::kForward, Phase::kBackward)), "");
  EXPECT_EQ(FindViolations(marked(Phase::kForward, Phase::kForward)), "");
}

TEST(Verify, V6TypesAreCompleteAndAFixedPoint) {
  const Graph graph = RuleOp("_rule_exp", "e", {Var("x")}).ToGraph();
  const TensorType good{DType::kFloat32, Shape{2}};
  const auto breaches = [&](Types types) { return FindViolations(graph, &types); };
  EXPECT_EQ(breaches({good, good}), "");
  EXPECT_EQ(breaches({good}), "V6: 1 types for 2 entries\n");
  EXPECT_EQ(breaches({good, {DType::kFloat32, Shape{3}}}),
            "V6: e_output is recorded as float32[3], inference gives float32[2]\n");
  EXPECT_EQ(breaches({good, {DType::kFloat64, Shape{2}}}),
            "V6: e_output is recorded as float64[2], inference gives float32[2]\n");
  EXPECT_CONTAINS(breaches({TensorType(), TensorType()}), "V6: cannot infer the type of 2 of 2 tensors");
  EXPECT_CONTAINS(breaches({{DType::kInt8, Shape{2}}, good}), "V6: _rule_exp 'e': expected data of a float dtype");
}

TEST(Verify, V6KnowsDeclaredOutputs) {
  testing::RegisterRuleOps();
  const Graph graph = testing::Op("_rule_gemm", "g", {Var("x"), Var("w")}, {{kOutDTypeAttr, "float32"}}).ToGraph();
  const TensorType low{DType::kBFloat16, Shape{2}}, wide{DType::kFloat32, Shape{2}};
  const auto breaches = [&](Types types) { return FindViolations(graph, &types); };
  EXPECT_EQ(breaches({low, low, wide}), "");
  EXPECT_EQ(breaches({low, low, low}), "V6: g_output is recorded as bfloat16[2], inference gives float32[2]\n");
}

TEST(Verify, AllBreachesAtOnce) {
  const Symbol s = RuleOp("_rule_add", "s", {RuleOp("_rule_none", "n", {Var("x")}), Var("x")});
  EXPECT_EQ(Breaches(s), "V4: operator _rule_none has no inference rules\nV3: two variables are named 'x'\n");
}

TEST(VerifyAfter, ThrowsOnlyWhenItIsOn) {
  const Graph graph = RuleOp("_rule_none", "n", {Var("x")}).ToGraph();
  setenv("AMP_VERIFY", "0", 1);
  VerifyAfter("a stage", graph);
  setenv("AMP_VERIFY", "1", 1);
  EXPECT_EQ(ErrorOf<InternalError>([&] { VerifyAfter("a stage", graph); }),
            "pass a stage produced an invalid graph:\nV4: operator _rule_none has no inference rules\n");
}

}  // namespace
}  // namespace amp
