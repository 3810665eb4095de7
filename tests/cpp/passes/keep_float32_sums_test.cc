// Which gradients are written in float32, and what stays as it was. Numbers are in
// tests/python/amp/test_gradient_precision.py.
#include "passes/gradient/keep_float32_sums.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "passes/gradient/differentiable_graph.h"
#include "passes/gradient/gradient.h"
#include "passes/infer.h"

namespace amp::testing {
namespace {

Symbol Low(const std::string& name, const Symbol& x, const char* dtype = "bfloat16") {
  return Op("amp_cast", name, {x}, {{"dtype", dtype}});
}

// Names of the backward nodes that say which dtype they write.
std::vector<std::string> WideNodes(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodePtr& node : graph.nodes()) {
    if (node->phase() == Phase::kBackward && node->FindAttr(kOutDTypeAttr) != nullptr) names.push_back(node->name());
  }
  return names;
}

std::vector<std::string> WideNodes(const Symbol& symbol, const std::vector<std::string>& variables) {
  return WideNodes(Gradient(symbol, variables).ToGraph());
}

const std::vector<std::string> kNone;

Symbol Product(const Symbol& a, const Symbol& b) { return Op("batch_dot", "product", {a, b}); }
Symbol LowProduct() { return Product(Low("a_low", Var("a")), Low("b_low", Var("b"))); }

TEST(KeepFloat32Sums, AProductWritesWhatItsCastWouldRead) {
  EXPECT_EQ(Text(Gradient(LowProduct(), {"b"})),
            "%0 a = null()\n"
            "%1 a_low = amp_cast(%0) dtype=bfloat16\n"
            "%2 b = null()\n"
            "%3 b_low = amp_cast(%2) dtype=bfloat16\n"
            "%4 product = batch_dot(%1, %3)\n"
            "%5 product_backward = ones_like(%4) __forward_node__=product\n"
            "%6 product_backward1 = batch_dot(%1, %5) __forward_node__=product __out_dtype__=float32 transpose_a=True "
            "transpose_b=False\n"
            "%7 b_low_backward = _cast_like(%6, %2) __forward_node__=b_low\n"
            "%8 b_grad = _copy(%7) __output_name__=b_grad\n"
            "outputs: %4 %8\n");
  EXPECT_EQ(WideNodes(LowProduct(), {"a", "b"}).size(), 2u);
}

TEST(KeepFloat32Sums, DataMayMoveBetweenProductAndCast) {
  const Symbol moved = Op("Reshape", "moved", {Low("a_low", Var("a"))}, {{"shape", "(2, 3, 4)"}});
  const Symbol turned = Op("transpose", "turned", {moved}, {{"axes", "(0, 2, 1)"}});
  EXPECT_EQ(WideNodes(Product(turned, Low("b_low", Var("b"))), {"a"}).size(), 1u);
}

TEST(KeepFloat32Sums, ArithmeticBetweenThemReadsWhatItRead) {
  const Symbol x = Op("sigmoid", "x", {Low("a_low", Var("a"))});
  EXPECT_EQ(WideNodes(Product(x, Low("b_low", Var("b"))), {"a"}), kNone);
}

// Each reader of what is cast gives a gradient, and these are summed in float32.
TEST(KeepFloat32Sums, SeveralReadersAreSummedInFloat32) {
  const Symbol a = Low("a_low", Var("a"));
  const Symbol both =
      Op("elemwise_add", "both",
         {Op("batch_dot", "one", {a, Low("b_low", Var("b"))}), Op("batch_dot", "two", {a, Low("c_low", Var("c"))})});
  EXPECT_EQ(WideNodes(both, {"a"}).size(), 2u);
  const Graph graph = Gradient(both, {"a"}).ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    const bool is_cast = node->IsOp("_cast_like") || node->IsOp("amp_cast");
    EXPECT_FALSE(is_cast && node->inputs()[0].node->IsOp("add_n")) << node->name();
  }
}

// A second reader needs the gradient as it was: that of y, which is low.
TEST(KeepFloat32Sums, OtherReadersKeepIt) {
  const Symbol sum = Op("elemwise_add", "sum", {Low("a_low", Var("a")), Op("sigmoid", "y", {Low("c_low", Var("c"))})});
  EXPECT_EQ(WideNodes(Product(sum, Low("b_low", Var("b"))), {"a", "c"}), kNone);
  EXPECT_EQ(WideNodes(Product(sum, Low("b_low", Var("b"))), {"a"}).size(), 1u);
}

TEST(KeepFloat32Sums, WhatIsNotLowHasNothingToKeep) {
  EXPECT_EQ(WideNodes(Product(Var("a"), Var("b")), {"a", "b"}), kNone);
  EXPECT_EQ(WideNodes(Product(Var("a", {{"__dtype__", "12"}}), Var("b")), {"a", "b"}), kNone);  // nor is it cast
  EXPECT_EQ(WideNodes(Product(Low("a_wide", Var("a", {{"__dtype__", "12"}}), "float32"), Var("b")), {"a", "b"}), kNone);
}

// The cast rounds to whatever the variable turns out to be.
TEST(KeepFloat32Sums, CastsStay) {
  const Symbol gradient = Gradient(LowProduct(), {"a"});
  const Graph graph = gradient.ToGraph();
  const DType bf16 = DType::kBFloat16;
  for (const DType dtype : {DType::kFloat32, bf16}) {
    const Types types = Infer(graph, {{"a", {dtype, Shape{2, 3, 4}}}, {"b", {DType::kFloat32, Shape{2, 4, 5}}}});
    EXPECT_EQ(types[graph.EntryOf(graph.outputs()[1])].dtype, dtype);
  }
}

TEST(KeepFloat32Sums, HalvesOfARecordedGraphKeepThemToo) {
  const DifferentiableGraph graph(LowProduct(), {"a", "b"}, {true, true}, true);
  EXPECT_EQ(WideNodes(graph.Backward({{true}, {true, true}})->symbol.ToGraph()).size(), 2u);
}

}  // namespace
}  // namespace amp::testing
