// Predicted times of forward and backward together (GraphCosts with gradients).
#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/short_dtypes.h"
#include "passes/precision/decide.h"
#include "passes/typed.h"
#include "program/graph_costs.h"
#include "program/machine_text.h"

namespace amp::testing {
namespace {

Symbol DenseWithoutBias(const std::string& name, const Symbol& x) {
  return Op("FullyConnected", name, {x, Var(name + "_w")}, {{"num_hidden", "128"}, {"no_bias", "True"}});
}

// Two layers of 128 units, on 64 rows.
Model TwoLayers() {
  const Symbol hidden = Op("sigmoid", "act", {DenseWithoutBias("one", Var("x"))});
  const TensorType weight{kF32, {128, 128}};
  return Model(DenseWithoutBias("two", hidden).ToGraph(),
               {{"x", {kF32, {64, 128}}}, {"one_w", weight}, {"two_w", weight}}, {"one_w", "two_w"});
}

double Low(const PrecisionCosts& costs, NodeId id, DType output = kBF16) {
  return static_cast<double>(costs.OfNode(id, {kBF16, kBF16}, {output}));
}
double High(const PrecisionCosts& costs, NodeId id) {
  return static_cast<double>(costs.OfNode(id, {kF32, kF32}, {kF32}));
}

TEST(TrainingCosts, ProductsHaveOneGradientForEachOperandThatAsks) {
  const Model model = TwoLayers();
  const auto machine = SmallMachine();
  const GraphCosts inference(*machine, model), training(*machine, model, std::set<std::string>{"one_w", "two_w"}),
      last(*machine, model, std::set<std::string>{"two_w"}), nothing(*machine, model, std::set<std::string>{});
  const NodeId one = IdOf(model, "one"), two = IdOf(model, "two");
  const double product = High(inference, one);
  EXPECT_NEAR(High(training, one) / product, 2, 0.1);  // x has no gradient
  EXPECT_NEAR(High(training, two) / product, 3, 0.1);
  EXPECT_NEAR(High(last, one) / product, 1, 0.1);
  EXPECT_NEAR(High(last, two) / product, 2, 0.1);
  EXPECT_NEAR(High(nothing, two) / product, 1, 0.1);
  EXPECT_NEAR(Low(training, two) / High(training, two), 0.5, 0.05);  // twice as fast, backwards as well
}

TEST(TrainingCosts, AFloat32ResultHasTheCastOfItsGradient) {
  const Model model = TwoLayers();
  const auto machine = SmallMachine();
  const GraphCosts inference(*machine, model), training(*machine, model, std::set<std::string>{"one_w", "two_w"});
  const NodeId two = IdOf(model, "two");
  const double forward = Low(inference, two, kF32) - Low(inference, two);
  const double both = Low(training, two, kF32) - Low(training, two);
  EXPECT_GT(both - forward, 0.5 * static_cast<double>(inference.OfCast(model.graph().EntryOf(two, 0), kF32, kBF16)));
}

TEST(TrainingCosts, ElementwiseNodesAreComputedBackwards) {
  const Model model = TwoLayers();
  const auto machine = SmallMachine();
  const GraphCosts inference(*machine, model), training(*machine, model, std::set<std::string>{"one_w"}),
      last(*machine, model, std::set<std::string>{"two_w"});
  const NodeId act = IdOf(model, "act");
  EXPECT_GT(training.OfNode(act, {kF32}, {kF32}), inference.OfNode(act, {kF32}, {kF32}));
  EXPECT_EQ(last.OfNode(act, {kF32}, {kF32}), inference.OfNode(act, {kF32}, {kF32}));
}

TEST(TrainingCosts, CastsHaveGradientsAndParametersChange) {
  const Model model = TwoLayers();
  const Graph& graph = model.graph();
  const auto machine = SmallMachine();
  const GraphCosts inference(*machine, model), training(*machine, model, std::set<std::string>{"one_w", "two_w"});
  const EntryId weight = graph.EntryOf(IdOf(model, "one_w"), 0), x = graph.EntryOf(IdOf(model, "x"), 0);
  EXPECT_EQ(inference.OfCast(weight, kF32, kBF16), 0);  // once
  EXPECT_GT(training.OfCast(weight, kF32, kBF16), 0);
  EXPECT_EQ(training.OfCast(x, kF32, kBF16), inference.OfCast(x, kF32, kBF16));
  const EntryId act = graph.EntryOf(IdOf(model, "act"), 0), sum = graph.EntryOf(IdOf(model, "one"), 0);
  // A product writes the gradient in float32; a function needs a cast.
  const Picoseconds product = training.OfCast(act, kF32, kBF16) - inference.OfCast(act, kF32, kBF16);
  const Picoseconds function = training.OfCast(sum, kF32, kBF16) - inference.OfCast(sum, kF32, kBF16);
  EXPECT_GT(product, 0);
  EXPECT_GT(function, product);
}

// A batch norm computes other things in training.
TEST(TrainingCosts, TrainingFormsAreCounted) {
  const Symbol norm = Op("BatchNorm", "bn",
                         {Op("Convolution", "conv", {Var("x"), Var("w")},
                             {{"kernel", "(1, 1)"}, {"num_filter", "32"}, {"no_bias", "True"}})});
  TypeMap types{{"x", {kF32, {2, 32, 16, 16}}}, {"w", {kF32, {32, 32, 1, 1}}}};
  for (const char* name : {"bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"}) types[name] = {kF32, {32}};
  const Model model(norm.At(0).ToGraph(), types, {"w", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"});
  const auto machine = SmallMachine();
  const GraphCosts inference(*machine, model), frozen(*machine, model, std::set<std::string>{}),
      training(*machine, model, std::set<std::string>{"w"});
  const NodeId bn = IdOf(model, "bn");
  const std::vector<DType> read(5, kF32), written(3, kF32);
  EXPECT_GT(frozen.OfNode(bn, read, written), inference.OfNode(bn, read, written));
  EXPECT_GT(training.OfNode(bn, read, written), frozen.OfNode(bn, read, written));
}

// What is saved backwards counts: low precision does not pay for one run, but for three products.
TEST(TrainingCosts, DecideTheDTypes) {
  const Model model = TwoLayers();
  ConvertOptions options{.policy = PrecisionPolicy::kOptimal, .machine = SmallMachine()};
  const Decision inference = Decide(model, options);
  options.training = true;
  const Decision training = Decide(model, options);
  EXPECT_GT(training.predicted->unchanged, 2 * inference.predicted->unchanged);
  EXPECT_LT(training.predicted->as_decided, training.predicted->unchanged);
}

}  // namespace
}  // namespace amp::testing
