// The two halves of a graph that runs first and is differentiated afterwards.
#include "passes/gradient/differentiable_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nnvm/compose.h"

namespace amp::testing {
namespace {

bool AreKnown(const Symbol& symbol, const std::vector<std::string>& variables) {
  const std::vector<std::string> read = symbol.ListInputs();
  return std::all_of(read.begin(), read.end(), [&](const std::string& name) {
    return std::find(variables.begin(), variables.end(), name) != variables.end();
  });
}

TEST(DifferentiableGraph, TheBackwardHalfComputesNothingAgain) {
  const Symbol net = Op("tanh", "t", {Op("exp", "e", {Var("x")})});
  const DifferentiableGraph graph(net, {"x"}, {true}, true);
  EXPECT_EQ(graph.num_outputs(), 1u);
  EXPECT_EQ(graph.forward().outputs().size(), 2u);  // and the exponential, which its gradient reads
  const auto half = graph.Backward({{true}, {true}});
  EXPECT_EQ(half->gradients, std::vector<std::optional<std::size_t>>{0});
  const std::vector<std::string> ops = OpsOf(half->symbol);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "exp") + std::count(ops.begin(), ops.end(), "tanh"), 0);
  EXPECT_TRUE(AreKnown(half->symbol, graph.BackwardVariables()));
}

TEST(DifferentiableGraph, KeepsNothingWhereNobodyAsks) {
  const Symbol net = Op("tanh", "t", {Op("exp", "e", {Var("x")})});
  EXPECT_EQ(DifferentiableGraph(net, {"x"}, {false}, true).forward().outputs().size(), 1u);
}

TEST(DifferentiableGraph, AnInputThatIsNotAskedHasNoGradient) {
  const Symbol product = Op("elemwise_mul", "p", {Var("x"), Var("y")});
  const DifferentiableGraph graph(product, {"x", "y"}, {true, true}, true);
  const auto half = graph.Backward({{true}, {false, true}});
  EXPECT_FALSE(half->gradients[0].has_value());
  EXPECT_TRUE(half->gradients[1].has_value());
  EXPECT_EQ(graph.Backward({{true}, {false, true}}), half);  // the same request, the same half
  EXPECT_NE(graph.Backward({{true}, {true, true}}), half);
}

TEST(DifferentiableGraph, EqualGradientsAreOneOutput) {
  const Symbol sum = Op("elemwise_add", "s", {Var("x"), Var("y")});
  const auto half = DifferentiableGraph(sum, {"x", "y"}, {true, true}, true).Backward({{true}, {true, true}});
  EXPECT_EQ(half->symbol.outputs().size(), 1u);
  EXPECT_EQ(half->gradients, (std::vector<std::optional<std::size_t>>{0, 0}));
}

TEST(DifferentiableGraph, ZeroGradientsHaveNoGraph) {
  const Symbol blocked = Op("BlockGrad", "b", {Var("x")});
  const auto half = DifferentiableGraph(blocked, {"x"}, {true}, true).Backward({{true}, {true}});
  EXPECT_TRUE(half->symbol.outputs().empty());
}

TEST(DifferentiableGraph, StatesMoveInTheBackwardHalf) {
  const Symbol norm = Op("BatchNorm", "bn", {Var("x"), Var("gamma"), Var("beta"), Var("mean"), Var("var")});
  const std::vector<std::string> inputs{"x", "gamma", "beta", "mean", "var"};
  const std::vector<bool> asked{true, true, true, false, false};
  const DifferentiableGraph graph(norm, inputs, asked, true);
  const auto half = graph.Backward({{true}, asked});
  ASSERT_EQ(half->states.size(), 2u);
  EXPECT_EQ(half->states[0].first, 3u);
  EXPECT_EQ(half->states[1].first, 4u);
  const std::vector<std::string> ops = OpsOf(half->symbol);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "_train_BatchNorm"), 0);
  EXPECT_TRUE(DifferentiableGraph(norm, inputs, asked, false).Backward({{true}, asked})->states.empty());
}

TEST(DifferentiableGraph, OnlyTrainingDrawsRandomNumbers) {
  const Symbol drop = Op("Dropout", "d", {Var("x")});
  EXPECT_TRUE(DifferentiableGraph(drop, {"x"}, {true}, true).is_random());
  EXPECT_FALSE(DifferentiableGraph(drop, {"x"}, {true}, false).is_random());
}

TEST(DifferentiableGraph, AnOperatorWithoutGradientIsAnErrorWhereOneIsAskedFor) {
  const Symbol take = Op("batch_take", "take", {Var("x"), Var("index")});
  const DifferentiableGraph graph(take, {"x", "index"}, {true, false}, true);
  EXPECT_CONTAINS(ErrorOf<UnsupportedError>([&] {
                    graph.Backward({{true}, {true, false}});
                  }),
                  "batch_take 'take' has no gradient");
}

TEST(DifferentiableGraph, DerivedGraphsCanBeDerivedAgain) {
  std::shared_ptr<const DifferentiableGraph> graph = std::make_shared<const DifferentiableGraph>(
      Op("sin", "s", {Var("x")}), std::vector<std::string>{"x"}, std::vector<bool>{true}, true);
  for (int i = 0; i < 3; ++i) {
    std::vector<bool> asked(graph->num_inputs(), false);
    asked[0] = true;
    std::vector<bool> differentiable(graph->BackwardVariables().size() - 1, false);
    differentiable[0] = true;
    graph = graph->Derived({{true}, asked}, differentiable);
    EXPECT_EQ(graph->num_outputs(), 1u);
    EXPECT_TRUE(AreKnown(graph->forward(), graph->ForwardVariables()));
  }
}

}  // namespace
}  // namespace amp::testing
