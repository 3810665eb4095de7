#include "nnvm/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "nnvm/compose.h"
#include "nnvm/fake_ops.h"

namespace amp {
namespace {

using testing::EntryOf;
using testing::ErrorOf;
using testing::FakeOp;
using testing::NodeOf;
using testing::Text;
using testing::Var;

std::vector<std::string> NodeNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodePtr& node : graph.nodes()) names.push_back(node->name());
  return names;
}

TEST(Graph, PostOrderOfADiamond) {
  const Symbol x = Var("x");
  const Symbol left = FakeOp("_fake_unary", "left", {x});
  const Symbol right = FakeOp("_fake_unary", "right", {x});
  EXPECT_EQ(Text(FakeOp("_fake_pair", "sum", {right, left})),
            "%0 x = null()\n"
            "%1 right = _fake_unary(%0)\n"
            "%2 left = _fake_unary(%0)\n"
            "%3 sum = _fake_pair(%1, %2)\n"
            "outputs: %3\n");
}

TEST(Graph, KnowsItsNodes) {
  const Symbol x = Var("x"), other = Var("other");
  const Graph graph = FakeOp("_fake_unary", "f", {x}).ToGraph();
  for (NodeId id = 0; id < graph.num_nodes(); ++id) EXPECT_EQ(graph.IdOf(&graph.node(id)), id);
  EXPECT_TRUE(graph.Contains(NodeOf(x).get()));
  EXPECT_FALSE(graph.Contains(NodeOf(other).get()));
  EXPECT_EQ(ErrorOf<InternalError>([&] { graph.IdOf(NodeOf(other).get()); }),
            "a graph was asked for a node that is not in it");
}

TEST(Graph, PrintsEntriesAttributesAndControlDependencies) {
  const Symbol split = FakeOp("_fake_split", "s", {Var("x")}, {{"num_outputs", "2"}});
  const NodePtr late = Node::Make({NodeOf(FakeOp("_fake_unary", "f", {Var("y")}))->op(),
                                   "late",
                                   {{"count", "2"}, {"__a__", "b"}},
                                   {{NodeOf(split), 1}},
                                   {NodeOf(split)},
                                   {}});
  EXPECT_EQ(PrintGraph(Graph({{late, 0}, {NodeOf(split), 0}})),
            "%0 x = null()\n"
            "%1 s = _fake_split(%0) num_outputs=2\n"
            "%2 late = _fake_unary(%1.1) after %1 __a__=b count=2\n"
            "outputs: %2 %1\n");
}

TEST(Graph, ControlDependenciesComeAfterInputs) {
  const Symbol x = Var("x"), y = Var("y"), z = Var("z");
  const NodePtr node =
      Node::Make({NodeOf(FakeOp("_fake_unary", "f", {x}))->op(), "n", {}, {EntryOf(y)}, {NodeOf(z), NodeOf(x)}, {}});
  EXPECT_EQ(NodeNames(Graph({{node, 0}})), (std::vector<std::string>{"y", "z", "x", "n"}));
}

// nnvm's depth-first search, written recursively.
std::vector<const Node*> RecursivePostOrder(const std::vector<NodeEntry>& heads) {
  std::vector<const Node*> order;
  std::set<const Node*> seen;
  const std::function<void(const Node*)> visit = [&](const Node* node) {
    if (!seen.insert(node).second) return;
    for (const NodeEntry& input : node->inputs()) visit(input.node.get());
    for (const NodePtr& dep : node->control_deps()) visit(dep.get());
    order.push_back(node);
  };
  for (const NodeEntry& head : heads) visit(head.node.get());
  return order;
}

TEST(Graph, OrderEqualsNnvmsOnRandomGraphs) {
  testing::RegisterFakeOps();
  const amp::Op* pair = &OpRegistry::Get().Require(kMXNetDomain, "_fake_pair");
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<NodePtr> nodes{Node::Variable("v0"), Node::Variable("v1")};
    const auto any = [&] { return nodes[random() % nodes.size()]; };
    for (int i = 0; i < 30; ++i) {
      std::vector<NodePtr> deps;
      if (random() % 4 == 0) deps = {any(), any()};
      nodes.push_back(Node::Make({pair, std::to_string(i), {}, {{any(), 0}, {any(), 0}}, deps, {}}));
    }
    const std::vector<NodeEntry> heads{{any(), 0}, {any(), 0}, {nodes.back(), 0}};
    const Graph graph(heads);
    const std::vector<const Node*> expected = RecursivePostOrder(heads);
    ASSERT_EQ(graph.num_nodes(), expected.size());
    for (NodeId id = 0; id < graph.num_nodes(); ++id) {
      EXPECT_EQ(&graph.node(id), expected[id]);
      EXPECT_EQ(graph.IdOf(expected[id]), id);
      for (const EntryId input : graph.InputsOf(id)) EXPECT_LT(graph.NodeOf(input), id);
    }
  }
}

TEST(Graph, EntriesAreNumberedWithHiddenOutputs) {
  const Symbol state = FakeOp("_fake_state", "s", {Var("x"), Var("m")});
  const Graph graph = FakeOp("_fake_unary", "u", {state}).ToGraph();
  ASSERT_EQ(graph.num_entries(), 5u);  // x, m, s output, s saved, u
  EXPECT_EQ(graph.EntryOf(2, 1), 3u);
  EXPECT_EQ(graph.NodeOf(3), 2u);
  EXPECT_EQ(graph.IndexOf(3), 1u);
  EXPECT_EQ(graph.EntryName(3), "s_saved");
  EXPECT_EQ(graph.EntryName(4), "u_output");
  EXPECT_EQ(graph.EntryOf({graph.nodes()[3], 0}), 4u);
}

TEST(Graph, ConsumersInOrderOfReaders) {
  const Symbol x = Var("x");
  const Symbol u = FakeOp("_fake_unary", "u", {x});
  const Graph graph = FakeOp("_fake_join", "j", {x, u, x}).ToGraph();
  const auto consumers = graph.ConsumersOf(0);
  ASSERT_EQ(consumers.size(), 3u);
  const std::vector<std::pair<NodeId, std::uint32_t>> expected{{1, 0}, {2, 0}, {2, 2}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(consumers[i].node, expected[i].first);
    EXPECT_EQ(consumers[i].slot, expected[i].second);
  }
  EXPECT_TRUE(graph.ConsumersOf(graph.EntryOf(graph.outputs()[0])).empty());
}

TEST(Graph, AVariableIsAuxiliaryIffItFeedsAMutableInput) {
  const Symbol x = Var("x"), m = Var("m");
  const Graph graph = FakeOp("_fake_state", "s2", {FakeOp("_fake_state", "s1", {x, m}), m}).ToGraph();  // m is shared
  ASSERT_EQ(graph.variables(), (std::vector<NodeId>{0, 1}));
  EXPECT_FALSE(graph.IsAuxiliary(0));
  EXPECT_TRUE(graph.IsAuxiliary(1));
}

TEST(Graph, SeveralHeads) {
  const Symbol x = Var("x");
  const Symbol u = FakeOp("_fake_unary", "u", {x});
  const Graph graph({EntryOf(u), EntryOf(x), EntryOf(u)});
  EXPECT_EQ(NodeNames(graph), (std::vector<std::string>{"x", "u"}));
  EXPECT_EQ(graph.outputs().size(), 3u);
  EXPECT_TRUE(graph.IsOutput(0));
  EXPECT_TRUE(graph.IsOutput(1));
}

TEST(Graph, HiddenOutputsMayBeHeads) {
  const Graph graph({{NodeOf(FakeOp("_fake_state", "s", {Var("x"), Var("m")})), 1}});
  EXPECT_FALSE(graph.IsOutput(2));
  EXPECT_TRUE(graph.IsOutput(3));
}

TEST(Graph, RefusesOutputsThatDoNotExist) {
  EXPECT_EQ(ErrorOf<GraphError>([] {
              Graph({{Node::Variable("x"), 1}});
            }),
            "variable 'x': output 1 is an output of the graph, but the node has 1 outputs");
  EXPECT_CONTAINS(ErrorOf<GraphError>([] { Graph({{nullptr, 0}}); }), "output is missing");
}

TEST(Graph, WithoutOutputsIsEmpty) {
  const Graph graph({});
  EXPECT_EQ(graph.num_nodes(), 0u);
  EXPECT_EQ(graph.num_entries(), 0u);
  EXPECT_EQ(PrintGraph(graph), "outputs:\n");
}

TEST(Graph, DeepChainsNeedNoStack) {
  testing::RegisterFakeOps();
  const amp::Op* unary = &OpRegistry::Get().Require(kMXNetDomain, "_fake_unary");
  NodePtr last = Node::Variable("x");
  for (int i = 0; i < 300000; ++i) last = Node::Make({unary, "n", {}, {{std::move(last), 0}}, {}, {}});
  const Graph graph({{last, 0}});
  EXPECT_EQ(graph.num_nodes(), 300001u);
  EXPECT_EQ(graph.IdOf(last.get()), 300000u);
}

}  // namespace
}  // namespace amp
