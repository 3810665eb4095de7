#include "passes/fusion_mxnet/unfuse.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/symbol_json.h"
#include "passes/infer.h"

namespace amp {
namespace {

using testing::ErrorOf;
using testing::Text;
using testing::VariableJson;
using Names = std::vector<std::string>;

// conv (no bias) -> batch norm -> relu, as MXNet 1.9.1 writes it.
const std::string kBody =
    R"({"nodes":[)" + VariableJson("data0") + "," + VariableJson("w0") +
    R"(,{"op":"Convolution","name":"conv","attrs":{"kernel":"[3,3]","num_filter":"8","no_bias":"True"},)"
    R"("inputs":[[0,0,0],[1,0,0]]},)" +
    VariableJson("g0") + "," + VariableJson("b0") + "," + VariableJson("m0") + "," + VariableJson("v0") +
    R"(,{"op":"BatchNorm","name":"bn","inputs":[[2,0,0],[3,0,0],[4,0,0],[5,0,0],[6,0,0]]},)"
    R"({"op":"Activation","name":"relu","attrs":{"act_type":"relu"},"inputs":[[7,0,0]]}],)"
    R"("arg_nodes":[0,1,3,4,5,6],"heads":[[8,0,0]]})";

std::string FusedConvolutionJson(const std::string& attrs, const std::string& body = kBody,
                                 const std::string& heads = "[[6,0,0]]") {
  return R"({"nodes":[)" + VariableJson("data") + "," + VariableJson("w") + "," + VariableJson("g") + "," +
         VariableJson("b") + "," + VariableJson("m") + "," + VariableJson("v") +
         R"(,{"op":"_sg_mkldnn_conv","name":"sg0","attrs":{)" + attrs +
         R"(},"inputs":[[0,0,0],[1,0,0],[2,0,0],[3,0,0],[4,0,1],[5,0,1]],"subgraphs":[)" + body +
         R"(]}],"arg_nodes":[0,1,2,3,4,5],"heads":)" + heads + "}";
}

Symbol Parse(const std::string& text) { return ParseSymbolJson(text, "test.json"); }

TEST(FusedNode, HasTheInputsAndStatesOfItsSubgraph) {
  const Symbol symbol = Parse(FusedConvolutionJson(R"("with_bn":"true","with_act":"true")"));
  EXPECT_EQ(symbol.ListArguments(), (Names{"data", "w", "g", "b"}));
  EXPECT_EQ(symbol.ListAuxiliaryStates(), (Names{"m", "v"}));
  EXPECT_EQ(symbol.ListOutputs(), (Names{"sg0_output"}));
}

TEST(FusedNode, IsInferredThroughItsSubgraph) {
  const Graph graph = Parse(FusedConvolutionJson("")).ToGraph();
  const Types types = Infer(graph, {{"data", {DType::kBFloat16, {1, 3, 10, 10}}}});
  EXPECT_EQ(types[graph.EntryOf(graph.outputs()[0])].ToString(), "bfloat16[1,8,8,8]");
  EXPECT_EQ(types[1].ToString(), "bfloat16[8,3,3,3]");
  EXPECT_EQ(types[5].ToString(), "float32[8]");
}

TEST(FusedNode, RefusesWhatDoesNotFit) {
  const auto refusal = [](const std::string& text) { return ErrorOf<GraphError>([&] { Parse(text); }); };
  const std::string two_heads = R"({"nodes":[)" + VariableJson("a") + R"(],"arg_nodes":[0],"heads":[[0,0,0],[0,0,0]]})";
  EXPECT_CONTAINS(refusal(FusedConvolutionJson("", two_heads)),
                  "_sg_mkldnn_conv 'sg0': expected a subgraph with one output, got 2");
  const std::string few = R"({"nodes":[)" + VariableJson("a") + R"(],"arg_nodes":[0],"heads":[[0,0,0]]})";
  EXPECT_CONTAINS(refusal(FusedConvolutionJson("", few)), "_sg_mkldnn_conv 'sg0': expected 1 inputs (a), got 6");
  EXPECT_CONTAINS(refusal(FusedConvolutionJson(R"("with_cake":"true")")), "unknown attribute 'with_cake'");
  EXPECT_CONTAINS(refusal(FusedConvolutionJson(R"("enabled_float_output":"int8")")),
                  "expected a float dtype, got int8");
  EXPECT_CONTAINS(ErrorOf<UnsupportedError>([] { Parse(FusedConvolutionJson(R"("quantized":"true")")); }),
                  "test.json: _sg_mkldnn_conv 'sg0': quantized=True");
}

// MXNet writes such files: a layer plus its own input.
TEST(FusedNode, VariablesOfOneNameAreInputsByPosition) {
  std::string twins = kBody;
  twins.replace(twins.find("\"w0\""), 4, "\"g0\"");
  const Graph graph = Parse(FusedConvolutionJson("", twins)).ToGraph();
  const Types types = Infer(graph, {{"data", {DType::kFloat32, {1, 3, 10, 10}}}});
  EXPECT_EQ(types[1].ToString(), "float32[8,3,3,3]");
  EXPECT_EQ(types[2].ToString(), "float32[8]");
  EXPECT_CONTAINS(Text(Unfuse(Parse(FusedConvolutionJson("", twins)))), "%2 conv = Convolution(%0, %1)");
}

TEST(Unfuse, OpensANodeUnderTheNamesOfItsSubgraph) {
  const Symbol symbol = Unfuse(Parse(FusedConvolutionJson("")));
  EXPECT_EQ(Text(symbol),
            "%0 data = null()\n"
            "%1 w = null()\n"
            "%2 conv = Convolution(%0, %1) kernel=[3,3] no_bias=True num_filter=8\n"
            "%3 g = null()\n"
            "%4 b = null()\n"
            "%5 m = null()\n"
            "%6 v = null()\n"
            "%7 bn = BatchNorm(%2, %3, %4, %5, %6)\n"
            "%8 relu = Activation(%7) __output_name__=sg0_output act_type=relu\n"
            "outputs: %8\n");
  EXPECT_EQ(symbol.ListOutputs(), (Names{"sg0_output"}));
  EXPECT_EQ(symbol.ListAuxiliaryStates(), (Names{"m", "v"}));
}

TEST(Unfuse, AFloatOutputIsThatOfTheProduct) {
  const Symbol symbol = Unfuse(Parse(FusedConvolutionJson(R"("enabled_float_output":"float32")")));
  EXPECT_CONTAINS(Text(symbol), "Convolution(%0, %1) __out_dtype__=float32");
  EXPECT_FALSE(testing::Contains(Text(symbol), "amp_cast"));
  EXPECT_EQ(symbol.ListOutputs(), (Names{"sg0_output"}));
  const Graph graph = symbol.ToGraph();
  const Types types = Infer(graph, {{"data", {DType::kBFloat16, {1, 3, 10, 10}}}});
  EXPECT_EQ(types[graph.EntryOf(graph.outputs()[0])].ToString(), "float32[1,8,8,8]");
}

// The other operand of a sum has the low dtype: the product cannot write float32.
TEST(Unfuse, AFloatOutputBehindASumIsACast) {
  const std::string body = R"({"nodes":[)" + VariableJson("a") + "," + VariableJson("w") + "," + VariableJson("b") +
                           R"(,{"op":"FullyConnected","name":"fc","attrs":{"num_hidden":"4"},)"
                           R"("inputs":[[0,0,0],[1,0,0],[2,0,0]]},)" +
                           VariableJson("c") +
                           R"(,{"op":"elemwise_add","name":"sum","inputs":[[3,0,0],[4,0,0]]}],)"
                           R"("arg_nodes":[0,1,2,4],"heads":[[5,0,0]]})";
  const std::string model = R"({"nodes":[)" + VariableJson("x") + "," + VariableJson("w") + "," + VariableJson("b") +
                            "," + VariableJson("y") +
                            R"(,{"op":"_sg_onednn_fully_connected","name":"sg0","attrs":{"with_sum":"True",)"
                            R"("enabled_float_output":"float32"},"inputs":[[0,0,0],[1,0,0],[2,0,0],[3,0,0]],)"
                            R"("subgraphs":[)" +
                            body + R"(]}],"arg_nodes":[0,1,2,3],"heads":[[4,0,0]]})";
  const Symbol symbol = Unfuse(Parse(model));
  const Node& head = *symbol.outputs()[0].node;
  ASSERT_EQ(head.op_name(), "amp_cast");
  EXPECT_EQ(*head.FindAttr("dtype"), "float32");
  EXPECT_EQ(symbol.ListOutputs(), (Names{"sg0_output"}));
}

// One of a batch norm's outputs is visible.
TEST(Unfuse, AHeadWithHiddenOutputsKeepsItsName) {
  std::string body = kBody;
  body.replace(body.find("[[8,0,0]]"), 9, "[[7,0,0]]");
  const Symbol symbol = Unfuse(Parse(FusedConvolutionJson("", body)));
  EXPECT_EQ(symbol.outputs()[0].node->op_name(), "BatchNorm");
  EXPECT_EQ(symbol.ListOutputs(), (Names{"sg0_output"}));
}

TEST(Unfuse, NodesInsideOfNodesAreOpenedToo) {
  const std::string inputs = VariableJson("p") + "," + VariableJson("q") + "," + VariableJson("r") + "," +
                             VariableJson("s") + "," + VariableJson("t") + "," + VariableJson("u");
  const std::string nested = R"({"nodes":[)" + inputs +
                             R"(,{"op":"_sg_onednn_conv","name":"inner",)"
                             R"("inputs":[[0,0,0],[1,0,0],[2,0,0],[3,0,0],[4,0,1],[5,0,1]],"subgraphs":[)" +
                             kBody + R"(]}],"arg_nodes":[0,1,2,3,4,5],"heads":[[6,0,0]]})";
  const Graph graph = Parse(FusedConvolutionJson("", nested)).ToGraph();
  const RewriteResult result = Unfuse(graph);
  EXPECT_TRUE(result.changed);
  std::size_t operators = 0;
  for (const NodePtr& node : result.graph.nodes()) {
    if (node->is_variable()) continue;
    ++operators;
    ASSERT_EQ(result.provenance.Of(node).size(), 1u);
    EXPECT_EQ(result.provenance.Of(node)[0]->name(), "sg0");
  }
  EXPECT_EQ(operators, 3u);
}

TEST(Unfuse, NothingFusedIsNothingChanged) {
  const Symbol symbol = testing::Op("Activation", "a", {testing::Var("x")}, {{"act_type", "relu"}});
  EXPECT_FALSE(Unfuse(symbol.ToGraph()).changed);
  EXPECT_EQ(Unfuse(symbol).outputs(), symbol.outputs());
}

}  // namespace
}  // namespace amp
