#include "program/graph_costs.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/short_dtypes.h"
#include "passes/typed.h"
#include "program/machine_text.h"

namespace amp::testing {
namespace {

// x[64,128] -> fc[64,256] -> relu -> softmax, and what else is asked for.
class GraphCostsTest : public ::testing::Test {
 protected:
  static Symbol Dense(const Symbol& x) {
    return Op("FullyConnected", "fc", {x, Var("w"), Var("b")}, {{"num_hidden", "256"}});
  }
  static Symbol Network() {
    return Op("softmax", "sm", {Op("Activation", "relu", {Dense(Var("x"))}, {{"act_type", "relu"}})});
  }
  static Model Typed(const Symbol& symbol, Shape x = {64, 128}) {
    return Model(symbol.ToGraph(), {{"x", {kF32, std::move(x)}}, {"w", {kF32, {256, 128}}}, {"b", {kF32, {256}}}},
                 {"w", "b"});
  }
};

TEST_F(GraphCostsTest, ProductsByTheirArithmetic) {
  const Model model = Typed(Network());
  const auto machine = SmallMachine();
  const GraphCosts costs(*machine, model);
  const NodeId fc = IdOf(model, "fc");
  const Picoseconds high = costs.OfNode(fc, {kF32, kF32, kF32}, {kF32});
  EXPECT_NEAR(static_cast<double>(high), 2.0 * 64 * 128 * 256 * 1e3 + 1e6, 1e6);  // 1 Gflop/s
  const Picoseconds low = costs.OfNode(fc, {kBF16, kBF16, kF32}, {kBF16});
  EXPECT_NEAR(static_cast<double>(low) / static_cast<double>(high), 0.5, 0.02);
  EXPECT_EQ(costs.OfNode(fc, {kF32, kF32, kF32}, {kF32}), high);  // the same when asked again
}

// Own kernels multiply what the library does not.
TEST_F(GraphCostsTest, ProductsOfInt16WithoutBFloat16Arithmetic) {
  nlohmann::ordered_json file = MachineFile();
  file["has_bfloat16"] = false;
  file["steps"]["winograd_f4x4_int16 bfloat16"] = {{0, 0, 0, 0, 0, 0, 0, 0}};
  file["has_int16"] = true;
  file["steps"]["dense_int16 bfloat16"] = {{0, 0, 0, 0, -1}};
  const auto machine = MachineTable::Parse(file.dump(), "small");
  const Model model = Typed(Network());
  const GraphCosts costs(*machine, model);
  const NodeId fc = IdOf(model, "fc"), relu = IdOf(model, "relu");
  const double high = static_cast<double>(costs.OfNode(fc, {kF32, kF32, kF32}, {kF32}));
  EXPECT_LT(static_cast<double>(costs.OfNode(fc, {kBF16, kBF16, kF32}, {kBF16})), 0.7 * high);
  EXPECT_EQ(costs.OfNode(relu, {kBF16}, {kBF16}), costs.OfNode(relu, {kF32}, {kF32}));  // part of the sum
}

TEST_F(GraphCostsTest, WithoutBFloat16ArithmeticLowNodesAreCasts) {
  const Model model = Typed(Network());
  const NodeId fc = IdOf(model, "fc");
  const auto machine = SmallMachine(false);
  const GraphCosts costs(*machine, model);
  EXPECT_GT(costs.OfNode(fc, {kBF16, kBF16, kF32}, {kBF16}), costs.OfNode(fc, {kF32, kF32, kF32}, {kF32}));
  const auto fast = SmallMachine();
  const GraphCosts others(*fast, model);
  EXPECT_GT(others.OfNode(fc, {kF16, kF16, kF32}, {kF16}), others.OfNode(fc, {kF32, kF32, kF32}, {kF32}));
  const NodeId relu = IdOf(model, "relu");
  EXPECT_GT(others.OfNode(relu, {kF16}, {kF16}), others.OfNode(relu, {kF32}, {kF32}));
}

TEST_F(GraphCostsTest, FunctionsAfterProductsAreFused) {
  const Model model = Typed(Network());
  const auto machine = SmallMachine();
  const GraphCosts costs(*machine, model);
  const Graph& graph = model.graph();
  const NodeId relu = IdOf(model, "relu"), softmax = IdOf(model, "sm");
  EXPECT_EQ(costs.OfNode(relu, {kF32}, {kF32}), 0);
  EXPECT_GT(costs.OfNode(softmax, {kF32}, {kF32}), 0);
  EXPECT_GT(costs.OfLostFusion(graph.InputsOf(relu)[0], {relu, 0}), 0);
  EXPECT_EQ(costs.OfLostFusion(graph.InputsOf(softmax)[0], {softmax, 0}), 0);
}

TEST_F(GraphCostsTest, AnotherReaderPreventsFusion) {
  const Symbol fc = Dense(Var("x"));
  const Model model = Typed(Op("softmax", "sm", {Op("elemwise_add", "sum", {Op("relu", "relu", {fc}), fc})}));
  const auto machine = SmallMachine();
  const GraphCosts costs(*machine, model);
  const NodeId relu = IdOf(model, "relu");
  EXPECT_GT(costs.OfNode(relu, {kF32}, {kF32}), 0);
  EXPECT_EQ(costs.OfLostFusion(model.graph().InputsOf(relu)[0], {relu, 0}), 0);
}

// The library's convolution is slow here. Of a product whose result a slope per channel multiplies, own kernels are
// none that low precision could have.
TEST_F(GraphCostsTest, ParametersBehindAProductLeaveItToTheLibrary) {
  nlohmann::ordered_json file = MachineFile();
  for (const char* dtype : {"float32", "bfloat16"}) {
    file["steps"][std::string("convolution_kxk ") + dtype] = {{0, 0, 0, 0, 0, 0, 0, 5}};
  }
  const auto machine = MachineTable::Parse(file.dump(), "slow library");
  const auto cost_with = [&](const Symbol& slope, DType dtype) {
    const Symbol conv = Op("Convolution", "conv", {Var("x"), Var("w")},
                           {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"num_filter", "64"}, {"no_bias", "True"}});
    const Symbol out = Op("broadcast_mul", "mul", {conv, slope});
    const Model model(out.ToGraph(),
                      {{"x", {kF32, {1, 64, 28, 28}}}, {"w", {kF32, {64, 64, 3, 3}}}, {"s", {kF32, {1, 64, 1, 1}}}},
                      {"w", "s"});
    return GraphCosts(*machine, model).OfNode(IdOf(model, "conv"), {dtype, dtype}, {dtype});
  };
  const Symbol parameter = Var("s"),
               computed = Op("exp", "e",
                             {Op("slice_axis", "first", {Var("x")}, {{"axis", "2"}, {"begin", "0"}, {"end", "1"}})});
  const Symbol number = Op("slice_axis", "second", {computed}, {{"axis", "3"}, {"begin", "0"}, {"end", "1"}});
  EXPECT_GT(cost_with(parameter, kBF16), 2 * cost_with(parameter, kF32));
  EXPECT_LT(cost_with(number, kBF16), 2 * cost_with(number, kF32));
}

TEST_F(GraphCostsTest, ConstantsCostNothing) {
  const Symbol weight = Op("exp", "e", {Var("w")});
  const Model model = Typed(Op("FullyConnected", "fc", {Var("x"), weight, Var("b")}, {{"num_hidden", "256"}}));
  const auto machine = SmallMachine();
  const GraphCosts costs(*machine, model);
  EXPECT_EQ(costs.OfNode(IdOf(model, "e"), {kF32}, {kF32}), 0);
  EXPECT_EQ(costs.OfCast(model.graph().EntryOf(IdOf(model, "w"), 0), kF32, kBF16), 0);
  EXPECT_GT(costs.OfCast(model.graph().EntryOf(IdOf(model, "x"), 0), kF32, kBF16), 0);
}

TEST_F(GraphCostsTest, NamesAllUnknownShapesButThoseOfLabels) {
  const auto machine = SmallMachine();
  const Model unknown = Typed(Network(), Shape{});
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { GraphCosts(*machine, unknown); }), "unknown: x, fc_output");
  const Symbol label = Op("Reshape", "r", {Var("label")}, {{"shape", "(-1,)"}});
  const Model labelled = Typed(Op("SoftmaxOutput", "out", {Dense(Var("x")), label}));
  const GraphCosts costs(*machine, labelled);
  EXPECT_GT(costs.OfNode(IdOf(labelled, "out"), {kF32, kF32}, {kF32}), 0);
}

TEST_F(GraphCostsTest, SlowestMachinesStayInRange) {
  nlohmann::ordered_json file = MachineFile();
  file["flops_per_second"]["float32"] = 1e3;
  file["start_seconds"] = 1;
  file["steps"]["inner_product float32"] = {{0, 0, 0, 0, 1e6}};
  const auto machine = MachineTable::Parse(file.dump(), "slow");
  const Model model = Typed(Network());
  const Picoseconds time = GraphCosts(*machine, model).OfNode(IdOf(model, "fc"), {kF32, kF32, kF32}, {kF32});
  EXPECT_GT(time, 0);
  EXPECT_LE(time, Picoseconds{1000} * 1000000000000);
}

}  // namespace
}  // namespace amp::testing
