// The gradient pass: what graphs become, and what it refuses. Its numbers are those of
// tests/cpp/ops/op_gradient_test.cc.
#include "passes/gradient/gradient.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nnvm/compose.h"
#include "passes/gradient/add_gradients.h"
#include "passes/gradient/use_training_forms.h"
#include "passes/infer.h"

namespace amp::testing {
namespace {

std::ptrdiff_t Count(const Symbol& symbol, const std::string& op) {
  const std::vector<std::string> ops = OpsOf(symbol);
  return std::count(ops.begin(), ops.end(), op);
}

TEST(Gradient, FollowsTheChainRule) {
  const Symbol sum = Op("elemwise_add", "sum", {Op("exp", "e", {Var("x")}), Var("y")});
  EXPECT_EQ(Text(Gradient(sum, {"x", "y"})),
            "%0 x = null()\n"
            "%1 e = exp(%0)\n"
            "%2 y = null()\n"
            "%3 sum = elemwise_add(%1, %2)\n"
            "%4 sum_backward = ones_like(%3) __forward_node__=sum\n"
            "%5 e_backward = broadcast_mul(%4, %1) __forward_node__=e\n"
            "%6 x_grad = _copy(%5) __output_name__=x_grad\n"
            "%7 y_grad = _copy(%4) __output_name__=y_grad\n"
            "outputs: %3 %6 %7\n");
}

TEST(Gradient, SumsSeveralReadersOnce) {
  const Symbol x = Var("x");
  const Symbol sum = Op("add_n", "sum", {Op("exp", "a", {x}), Op("sin", "b", {x}), x}, {{"num_args", "3"}});
  const Symbol gradient = Gradient(sum, {"x"});
  EXPECT_EQ(Count(gradient, "add_n"), 2);  // the symbol's own, and one for x
}

TEST(Gradient, ASumBehindACastIsOfWhatWasCastBack) {
  const Symbol low = Op("amp_cast", "low", {Var("x")}, {{"dtype", "bfloat16"}});
  const Symbol sum = Op("elemwise_add", "sum", {Op("relu", "a", {low}), Op("sigmoid", "b", {low})});
  const Graph graph = Gradient(sum, {"x"}).ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    if (!node->IsOp("add_n")) continue;
    for (const NodeEntry& input : node->inputs()) EXPECT_EQ(input.node->op_name(), "_cast_like");
  }
  EXPECT_EQ(Count(Gradient(sum, {"x"}), "_cast_like"), 2);
}

TEST(Gradient, ProductsReadTheGradientInTheirOperandsPrecision) {
  const auto low = [](const char* name) {
    return Op("amp_cast", std::string(name) + "_low", {Var(name)}, {{"dtype", "bfloat16"}});
  };
  const Symbol product = Op("dot", "product", {low("a"), low("b")}, {{kOutDTypeAttr, "float32"}});
  int narrowed = 0;
  const Graph graph = Gradient(product, {"a", "b"}).ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    const bool is_like_operand = node->IsOp("_cast_like") && node->inputs()[1].node->name() == "a_low";
    if (!is_like_operand) continue;
    EXPECT_EQ(node->inputs()[0].node->op_name(), "ones_like");
    ++narrowed;
  }
  EXPECT_EQ(narrowed, 1);  // once for both products
}

TEST(Gradient, BackwardNodesSayWhatTheyBelongTo) {
  const Graph graph = Gradient(Op("exp", "e", {Var("x")}), {"x"}).ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    const bool is_backward = node->phase() == Phase::kBackward;
    EXPECT_EQ(is_backward, node->name().starts_with("e_backward") || node->name() == "x_grad") << node->name();
    if (node->name().starts_with("e_backward")) {
      ASSERT_NE(node->FindAttr(kForwardNodeAttr), nullptr);
      EXPECT_EQ(*node->FindAttr(kForwardNodeAttr), "e");
    }
  }
}

TEST(Gradient, IsNeverMadeOfZeros) {
  const Symbol x = Var("x");
  const Symbol blocked = Op("elemwise_add", "sum", {Op("BlockGrad", "b", {Op("exp", "e", {x})}), x});
  const Symbol gradient = Gradient(blocked, {"x"});
  EXPECT_EQ(Count(gradient, "zeros_like"), 0);
  EXPECT_EQ(Count(gradient, "broadcast_mul"), 0);  // nothing goes through the exponential
  EXPECT_EQ(Count(Gradient(Op("BlockGrad", "b", {x}), {"x"}), "zeros_like"), 1);  // asked for by name
}

TEST(Gradient, UsesTheGivenGradientsOfOutputs) {
  GradientOptions options;
  options.output_gradients = {Var("g")};
  const Symbol gradient = Gradient(Op("exp", "e", {Var("x")}), {"x"}, options);
  EXPECT_EQ(Count(gradient, "ones_like"), 0);
  EXPECT_EQ(gradient.ListArguments(), (std::vector<std::string>{"x", "g"}));
}

TEST(Gradient, OfALossDoesNotReadWhatComesFromBehind) {
  GradientOptions options;
  options.output_gradients = {Var("g")};
  const Symbol gradient = Gradient(Op("SoftmaxOutput", "softmax", {Var("x"), Var("label")}), {"x"}, options);
  EXPECT_EQ(gradient.ListArguments(), (std::vector<std::string>{"x", "label"}));
}

TEST(Gradient, OfAGradient) {
  const Symbol first = Gradient(Op("sin", "s", {Var("x")}), {"x"});
  const Symbol second = Gradient(first.At(1), {"x"});
  EXPECT_EQ(Count(second, "sin"), 2);  // the derivative of cos
}

TEST(Gradient, TrainingFormsTakeThePlaceOfTheirNodes) {
  const Symbol norm = Op("BatchNorm", "bn", {Op("Dropout", "drop", {Var("x")})});
  const GradientGraph training = MakeGradientGraph(norm, {"x"});
  EXPECT_EQ(Count(training.outputs, "_train_BatchNorm"), 1);
  EXPECT_EQ(Count(training.outputs, "_train_Dropout"), 1);
  EXPECT_EQ(training.outputs.ListOutputs(), norm.ListOutputs());
  ASSERT_EQ(training.states.size(), 2u);
  EXPECT_EQ(training.states[0].first, "bn_moving_mean");
  EXPECT_EQ(training.states[1].first, "bn_moving_var");
  const std::vector<std::string> arguments = training.outputs.ListArguments();
  EXPECT_NE(std::find(arguments.begin(), arguments.end(), kRandomKey), arguments.end());

  const GradientGraph inference = MakeGradientGraph(norm, {"x"}, {false, {}});
  EXPECT_EQ(Count(inference.outputs, "BatchNorm"), 1);
  EXPECT_TRUE(inference.states.empty());
}

TEST(Gradient, GlobalStatisticsStayInTraining) {
  const Symbol norm = Op("BatchNorm", "bn", {Var("x")}, {{"use_global_stats", "True"}});
  EXPECT_EQ(Count(MakeGradientGraph(norm, {"x"}).outputs, "BatchNorm"), 1);
}

TEST(Gradient, Refusals) {
  const Symbol e = Op("exp", "e", {Var("x")});
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Gradient(e, {}); }), "no variable is named");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Gradient(e, {"y", "x"}); }), "do not depend on: y");
  GradientOptions options;
  options.output_gradients = {Var("a"), Var("b")};
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Gradient(e, {"x"}, options); }), "for 1 outputs at most, got 2");
  const Symbol taken = Op("batch_take", "taken", {Var("x"), Var("i")});
  EXPECT_CONTAINS(ErrorOf<UnsupportedError>([&] { Gradient(taken, {"x"}); }),
                  "batch_take 'taken' has no gradient: MXNet has none");
}

TEST(Gradient, OfADeepChain) {
  Symbol chain = Var("x");
  for (int i = 0; i < 20000; ++i) chain = Op("sin", "s" + std::to_string(i), {chain});
  EXPECT_EQ(Count(Gradient(chain, {"x"}), "cos"), 20000);
}

}  // namespace
}  // namespace amp::testing
