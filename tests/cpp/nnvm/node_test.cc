#include "nnvm/node.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/fake_ops.h"
#include "nnvm/graph.h"

namespace amp {
namespace {

using testing::ErrorOf;

const Op* Fake(std::string_view name) {
  testing::RegisterFakeOps();
  return &OpRegistry::Get().Require(kMXNetDomain, name);
}

NodePtr UnaryNode(NodeEntry input, std::string name = "u") {
  return Node::Make({Fake("_fake_unary"), std::move(name), {}, {std::move(input)}, {}, {}});
}

std::string RefusalOfNode(Node::Spec spec) {
  return ErrorOf<GraphError>([&] { Node::Make(std::move(spec)); });
}

TEST(Node, KnowsWhatItIs) {
  const NodePtr x = Node::Variable("x", {{"__shape__", "(1,)"}});
  const NodePtr node =
      Node::Make({Fake("_fake_unary"), "u", {{"count", "7"}, {"__ctx__", "a"}}, {{x, 0}}, {x}, Phase::kBackward});
  EXPECT_FALSE(node->is_variable());
  EXPECT_EQ(node->op_name(), "_fake_unary");
  EXPECT_EQ(node->params<testing::FakeUnaryParam>().count, 7);
  EXPECT_EQ(*node->FindAttr("__ctx__"), "a");
  EXPECT_EQ(node->FindAttr("absent"), nullptr);
  EXPECT_EQ(node->input_names(), std::vector<std::string>{"data"});
  EXPECT_EQ(node->output_names(), std::vector<std::string>{"output"});
  EXPECT_EQ(node->phase(), Phase::kBackward);
  EXPECT_EQ(node->Describe(), "_fake_unary 'u'");
  EXPECT_TRUE(x->is_variable());
  EXPECT_EQ(x->op_name(), "null");
  EXPECT_EQ(x->Describe(), "variable 'x'");
  EXPECT_EQ(x->num_outputs(), 1);
}

TEST(Node, HiddenOutputsCountButAreNotVisible) {
  const NodePtr node =
      Node::Make({Fake("_fake_state"), "s", {}, {{Node::Variable("x"), 0}, {Node::Variable("state"), 0}}, {}, {}});
  EXPECT_EQ(node->num_outputs(), 2);
  EXPECT_EQ(node->num_visible_outputs(), 1);
  EXPECT_EQ(OutputName({node, 0}), "s_output");
  EXPECT_EQ(OutputName({node, 1}), "s_saved");
}

TEST(Node, OutputNames) {
  const NodePtr x = Node::Variable("x");
  EXPECT_EQ(OutputName({x, 0}), "x");
  EXPECT_EQ(OutputName({UnaryNode({x, 0}), 0}), "u_output");
  const NodePtr named = UnaryNode({x, 0})->WithAttrs({{kOutputNameAttr, "prob"}});
  EXPECT_EQ(OutputName({named, 0}), "prob");
  // A name for one output cannot name several.
  const NodePtr split =
      Node::Make({Fake("_fake_split"), "s", {{"num_outputs", "2"}, {kOutputNameAttr, "prob"}}, {{x, 0}}, {}, {}});
  EXPECT_EQ(OutputName({split, 1}), "s_output1");
}

TEST(Node, IllFormedNodesCannotBeMade) {
  const NodePtr x = Node::Variable("x");
  EXPECT_EQ(RefusalOfNode({Fake("_fake_pair"), "p", {}, {{x, 0}}, {}, {}}),
            "_fake_pair 'p': expected 2 inputs (lhs, rhs), got 1");
  EXPECT_EQ(RefusalOfNode({Fake("_fake_pair"), "p", {}, {{x, 0}, {nullptr, 0}}, {}, {}}),
            "_fake_pair 'p': input rhs is missing");
  EXPECT_EQ(RefusalOfNode({Fake("_fake_pair"), "p", {}, {{x, 0}, {x, 1}}, {}, {}}),
            "_fake_pair 'p': input rhs reads output 1 of variable 'x', which has 1");
  EXPECT_EQ(
      RefusalOfNode({Fake("_fake_state"), "s", {}, {{x, 0}, {UnaryNode({x, 0}), 0}}, {}, {}}),
      "_fake_state 's': input state is an auxiliary state and must be a variable, got the output of _fake_unary 'u'");
  EXPECT_EQ(RefusalOfNode({Fake("_fake_unary"), "u", {{"count", "x"}}, {{x, 0}}, {}, {}}),
            "_fake_unary 'u': attribute count: expected int, got 'x'");
  EXPECT_EQ(RefusalOfNode({Fake("_fake_split"), "s", {}, {{x, 0}}, {}, {}}),
            "_fake_split 's': attribute num_outputs (int) is missing");
  EXPECT_EQ(RefusalOfNode({Fake("_fake_unary"), "u", {}, {{x, 0}}, {nullptr}, {}}),
            "_fake_unary 'u': a control dependency is missing");
  EXPECT_EQ(RefusalOfNode({nullptr, "v", {}, {{x, 0}}, {}, {}}),
            "variable 'v': a variable depends on nothing, got 1 inputs and 0 control dependencies");
  EXPECT_CONTAINS(RefusalOfNode({nullptr, "v", {}, {}, {x}, {}}), "a variable depends on nothing");
}

TEST(Node, ForwardDoesNotReadBackward) {
  const NodePtr x = Node::Variable("x");
  const NodePtr gradient = Node::Make({Fake("_fake_unary"), "g", {}, {{x, 0}}, {}, Phase::kBackward});
  EXPECT_EQ(RefusalOfNode({Fake("_fake_unary"), "u", {}, {{gradient, 0}}, {}, Phase::kForward}),
            "_fake_unary 'u': a forward node cannot read _fake_unary 'g' of the backward phase");
  Node::Make({Fake("_fake_unary"), "u", {}, {{gradient, 0}}, {}, Phase::kBackward});
}

TEST(Node, WithInputsChecksAgain) {
  const NodePtr x = Node::Variable("x");
  const NodePtr node = UnaryNode({x, 0});
  const NodePtr y = Node::Variable("y");
  const NodePtr moved = node->WithInputs({{y, 0}}, {x});
  EXPECT_EQ(moved->inputs()[0].node, y);
  EXPECT_EQ(moved->control_deps()[0], x);
  EXPECT_EQ(node->inputs()[0].node, x);  // the original does not change
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { node->WithInputs({}, {}); }), "expected 1 inputs");
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { node->WithInputs({{y, 0}}, {nullptr}); }), "control dependency is missing");
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { x->WithInputs({{y, 0}}, {}); }), "a variable depends on nothing");
}

TEST(Node, WithAttrsParsesAgain) {
  const NodePtr node = UnaryNode({Node::Variable("x"), 0});
  EXPECT_EQ(node->WithAttrs({{"count", "1"}})->params<testing::FakeUnaryParam>().count, 1);
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { node->WithAttrs({{"count", "99"}}); }), "_fake_unary 'u': attribute count");
}

TEST(Node, FailAtNamesTheNode) {
  const NodePtr x = Node::Variable("x\n");
  EXPECT_EQ(ErrorOf<GraphError>([&] { FailAt(*x, "got {}", 3); }), "variable 'x\\x0a': got 3");
}

constexpr int kMillion = 1000000;

TEST(Node, AChainOfAMillionDiesWithoutRecursion) {
  NodePtr last = Node::Variable("x");
  std::weak_ptr<const Node> first = last;
  for (int i = 0; i < kMillion; ++i) last = UnaryNode({std::move(last), 0}, "");
  last.reset();
  EXPECT_TRUE(first.expired());
}

TEST(Node, AChainOfControlDependenciesDiesWithoutRecursion) {
  NodePtr last = Node::Make({Fake("_fake_source"), "", {}, {}, {}, {}});
  for (int i = 0; i < kMillion / 4; ++i) last = Node::Make({Fake("_fake_source"), "", {}, {}, {std::move(last)}, {}});
}

TEST(Node, PartsThatOthersHoldSurvive) {
  NodePtr middle;
  NodePtr last = Node::Variable("x");
  for (int i = 0; i < 1000; ++i) {
    last = UnaryNode({std::move(last), 0}, std::to_string(i));
    if (i == 500) middle = last;
  }
  last.reset();
  EXPECT_EQ(middle->name(), "500");
  EXPECT_EQ(Graph({{middle, 0}}).num_nodes(), 502u);
}

TEST(Node, ADiamondLadderDiesInLinearTime) {
  NodePtr last = Node::Variable("x");
  for (int i = 0; i < kMillion / 4; ++i)
    last = Node::Make({Fake("_fake_pair"), "", {}, {{last, 0}, {last, 0}}, {}, {}});
}

}  // namespace
}  // namespace amp
