// Forward tensors that are computed again for the backward pass: what graphs become, and what fits into a budget. Its
// numbers are those of tests/cpp/dnnl/recompute_numeric_test.cc.
#include "passes/gradient/recompute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "nnvm/compose.h"
#include "passes/gradient/gradient.h"

namespace amp::testing {
namespace {

const AttrMap kMarked{{kForceMirroringAttr, "True"}};
const TensorType kVector{DType::kFloat32, Shape{256}};  // a kilobyte

std::vector<std::string> CopiesIn(const Graph& graph) {
  std::vector<std::string> copies;
  for (const NodePtr& node : graph.nodes()) {
    if (node->name().ends_with("_again")) copies.push_back(node->name());
  }
  return copies;
}

TEST(Recompute, BackwardNodesReadCopies) {
  const Symbol symbol = Op("square", "b", {Op("sin", "a", {Var("x")}, kMarked)});
  EXPECT_EQ(Text(Gradient(symbol, {"x"})),
            "%0 x = null()\n"
            "%1 a = sin(%0) __force_mirroring__=True\n"
            "%2 b = square(%1)\n"
            "%3 b_backward = ones_like(%2) __forward_node__=b\n"
            "%4 a_again = sin(%0) after %3 __forward_node__=a __recompute__=1\n"
            "%5 b_backward1 = _mul_scalar(%4) __forward_node__=b scalar=2.0\n"
            "%6 b_backward2 = broadcast_mul(%3, %5) __forward_node__=b\n"
            "%7 a_backward = cos(%0) __forward_node__=a\n"
            "%8 a_backward1 = broadcast_mul(%6, %7) __forward_node__=a\n"
            "%9 x_grad = _copy(%8) __output_name__=x_grad\n"
            "outputs: %2 %9\n");
}

// What is read only for its shape is not computed again.
TEST(Recompute, ShapesNeedNoCopies) {
  const Symbol symbol = Op("sum", "s", {Op("sin", "a", {Var("x")}, kMarked)});
  EXPECT_EQ(CopiesIn(Gradient(symbol, {"x"}).ToGraph()), std::vector<std::string>{});
}

// A copy reads copies of what is recomputed, and each node has one.
TEST(Recompute, ChainsHaveOneCopyOfEachNode) {
  const Symbol a = Op("sin", "a", {Var("x")}, kMarked), b = Op("sin", "b", {a}, kMarked);
  const Graph graph = Gradient(Op("square", "c", {Op("elemwise_add", "sum", {b, a}, kMarked)}), {"x"}).ToGraph();
  EXPECT_EQ(CopiesIn(graph), (std::vector<std::string>{"a_again", "b_again", "sum_again"}));
  for (const NodePtr& node : graph.nodes()) {
    if (node->phase() != Phase::kBackward) continue;
    for (const NodeEntry& input : node->inputs()) {
      const std::string& name = input.node->name();
      EXPECT_TRUE(name != "a" && name != "b" && name != "sum") << node->name() << " reads " << name;
    }
  }
}

// Not earlier: what is behind has been differentiated by then.
TEST(Recompute, CopiesWaitForTheNodeBeforeTheirFirstReader) {
  const Symbol a = Op("sin", "a", {Var("x")}, kMarked);
  const std::string text = Text(Gradient(Op("exp", "e", {Op("dot", "product", {a, Var("y")})}), {"y"}));
  EXPECT_NE(text.find("%6 e_backward1 = broadcast_mul(%5, %4) __forward_node__=e\n"), std::string::npos) << text;
  EXPECT_NE(text.find("a_again = sin(%0) after %6 __forward_node__=a __recompute__=1\n"), std::string::npos) << text;
}

TEST(Recompute, NothingIsMarked) {
  const Symbol symbol = Op("square", "b", {Op("sin", "a", {Var("x")}, {{kForceMirroringAttr, "False"}})});
  EXPECT_EQ(CopiesIn(Gradient(symbol, {"x"}).ToGraph()), std::vector<std::string>{});
}

// MXNet keeps it, too: it would draw other numbers.
TEST(Recompute, DropoutIsKept) {
  AttrMap attrs = kMarked;
  attrs["p"] = "0.5";
  const Symbol symbol = Op("square", "b", {Op("Dropout", "a", {Var("x")}, attrs)});
  EXPECT_EQ(CopiesIn(Gradient(symbol, {"x"}).ToGraph()), std::vector<std::string>{});
}

// ---- budgets ----

struct Joint {
  Graph graph;
  Types types;
};

Joint JointOf(const Symbol& symbol, const std::vector<std::string>& variables, TypeMap known) {
  Graph graph = JointGraph(MakeGradientGraph(symbol, variables));
  Types types = Infer(graph, known);
  return {std::move(graph), std::move(types)};
}

std::int64_t PeakOf(const Joint& joint) {
  return PeakOfKept(joint.graph, joint.types, Recomputed(joint.graph.num_nodes(), false));
}

// The copies of a graph that was changed, after it has been inferred.
std::vector<std::string> CopiesFor(const Joint& joint, std::int64_t budget) {
  return CopiesIn(RecomputeToFit(joint.graph, joint.types, budget));
}

// Layers of a product with a weight and two functions; the gradient of each reads what it gives.
Symbol Layers(int count) {
  Symbol x = Var("x");
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    x = Op("dot", "dot" + n, {x, Var("w" + n)});
    x = Op("tanh", "tanh" + n, {Op("exp", "exp" + n, {x})});
  }
  return x;
}

Joint JointOfLayers(int count) {
  TypeMap known{{"x", {DType::kFloat32, Shape{64, 4}}}};
  std::vector<std::string> variables;
  for (int i = 0; i < count; ++i) {
    variables.push_back("w" + std::to_string(i));
    known[variables.back()] = {DType::kFloat32, Shape{4, 4}};
  }
  return JointOf(Layers(count), variables, known);
}

TEST(RecomputeToFit, CountsWhatBackwardNodesRead) {
  // sin's derivative reads x, a variable; square's reads the sine; exp's its own result.
  const Symbol symbol = Op("exp", "c", {Op("square", "b", {Op("sin", "a", {Var("x")})})});
  EXPECT_EQ(PeakOf(JointOf(symbol, {"x"}, {{"x", kVector}})), 2048);
}

TEST(RecomputeToFit, LeavesAGraphThatFits) {
  const Joint joint = JointOfLayers(4);
  EXPECT_EQ(CopiesFor(joint, PeakOf(joint)), std::vector<std::string>{});
}

TEST(RecomputeToFit, FunctionsComeBeforeProducts) {
  const Joint joint = JointOfLayers(8);
  const std::int64_t peak = PeakOf(joint);
  const std::vector<std::string> copies = CopiesFor(joint, peak - 1024);
  EXPECT_FALSE(copies.empty());
  for (const std::string& name : copies) EXPECT_FALSE(name.starts_with("dot")) << name;
}

TEST(RecomputeToFit, ProductsWhereNothingElseSuffices) {
  const Joint joint = JointOfLayers(8);
  Recomputed functions(joint.graph.num_nodes(), false);
  for (NodeId id = 0; id < joint.graph.num_nodes(); ++id) {
    const Node& node = joint.graph.node(id);
    functions[id] = node.phase() == Phase::kForward && !node.is_variable() && !node.IsOp("dot");
  }
  const std::int64_t without = PeakOfKept(joint.graph, joint.types, functions);
  const std::vector<std::string> copies = CopiesFor(joint, without - 1024);
  EXPECT_TRUE(
      std::any_of(copies.begin(), copies.end(), [](const std::string& name) { return name.starts_with("dot"); }));
}

// The refusal names the least that is enough, and that is enough.
// What the error about an impossible budget says.
std::int64_t SmallestBudget(const Joint& joint) {
  const std::string error = ErrorOf<ArgumentError>([&] { RecomputeToFit(joint.graph, joint.types, 1); });
  const std::string before = "the smallest budget is ";
  const std::size_t at = error.find(before);
  EXPECT_NE(at, std::string::npos) << error;
  return at == std::string::npos ? 0 : std::stoll(error.substr(at + before.size()));
}

TEST(RecomputeToFit, SaysTheSmallestBudget) {
  const Joint joint = JointOfLayers(8);
  const std::int64_t smallest = SmallestBudget(joint);
  EXPECT_LT(smallest, PeakOf(joint));
  EXPECT_NO_THROW(RecomputeToFit(joint.graph, joint.types, smallest));
  EXPECT_THROW(RecomputeToFit(joint.graph, joint.types, smallest - 1), ArgumentError);
}

// Other ranks would wait for messages where theirs fits.
TEST(RecomputeToFit, WhatExchangesMessagesIsKept) {
  for (const char* op : {"BatchNorm", "_contrib_SyncBatchNorm"}) {
    Symbol x = Var("x");
    const TypeMap known{{"x", {DType::kFloat32, Shape{64, 4}}}};
    for (const char* name : {"a", "b", "c", "d"}) {
      x = Op("exp", std::string(name) + "_exp",
             {Op("square", std::string(name) + "_square", {Op(op, name, {x}).At(0)})});
    }
    const Joint joint = JointOf(x, {"x"}, known);
    const std::vector<std::string> copies = CopiesFor(joint, SmallestBudget(joint));
    EXPECT_FALSE(copies.empty());
    const bool has_norm = std::any_of(copies.begin(), copies.end(), [](const std::string& copy) {
      return std::set<std::string>{"a_again", "b_again", "c_again", "d_again"}.contains(copy);
    });
    EXPECT_EQ(has_norm, std::string(op) == "BatchNorm");
  }
}

}  // namespace
}  // namespace amp::testing
