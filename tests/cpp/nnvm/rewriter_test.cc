#include "nnvm/rewriter.h"

#include <gtest/gtest.h>

#include <set>

#include "nnvm/compose.h"
#include "nnvm/fake_ops.h"

namespace amp {
namespace {

using testing::EntryOf;
using testing::ErrorOf;
using testing::FakeOp;
using testing::NodeOf;
using testing::Var;

const Op* UnaryOp() {
  testing::RegisterFakeOps();
  return &OpRegistry::Get().Require(kMXNetDomain, "_fake_unary");
}

// x -> a -> (b, c) -> sum, and m a state.
Graph Diamond() {
  const Symbol a = FakeOp("_fake_unary", "a", {Var("x")});
  const Symbol b = FakeOp("_fake_unary", "b", {a});
  const Symbol c = FakeOp("_fake_state", "c", {a, Var("m")});
  return FakeOp("_fake_pair", "sum", {b, c}).ToGraph();
}

RewriteResult DropNode(const Graph& graph, const std::string& name) {
  Rewriter rewriter(graph);
  return rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
    if (graph.node(id).name() == name) return {inputs[0]};
    return rewriter.KeepNode(id, std::move(inputs));
  });
}

TEST(Rewriter, AnUnchangedGraphKeepsItsNodes) {
  const Graph graph = Diamond();
  const RewriteResult result = DropNode(graph, "nobody");
  EXPECT_FALSE(result.changed);
  EXPECT_EQ(result.graph.nodes(), graph.nodes());
  EXPECT_EQ(result.graph.outputs(), graph.outputs());
  for (const NodePtr& node : graph.nodes()) EXPECT_EQ(result.provenance.Of(node), std::vector<NodePtr>{node});
}

TEST(Rewriter, OnlyReadersOfAChangeAreMadeAnew) {
  const Graph graph = Diamond();
  const RewriteResult result = DropNode(graph, "b");
  EXPECT_TRUE(result.changed);
  EXPECT_EQ(PrintGraph(result.graph),
            "%0 x = null()\n"
            "%1 a = _fake_unary(%0)\n"
            "%2 m = null()\n"
            "%3 c = _fake_state(%1, %2)\n"
            "%4 sum = _fake_pair(%1, %3)\n"
            "outputs: %4\n");
  const std::set<NodePtr> before(graph.nodes().begin(), graph.nodes().end());
  for (const NodePtr& node : result.graph.nodes())
    EXPECT_EQ(before.contains(node), node->name() != "sum") << node->name();
}

TEST(Rewriter, SharedSubgraphsStayShared) {
  const Graph graph = Diamond();
  Rewriter rewriter(graph);
  const RewriteResult result = rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
    if (graph.node(id).name() != "x") return rewriter.KeepNode(id, std::move(inputs));
    return {{Node::Variable("image"), 0}};
  });
  EXPECT_EQ(result.graph.num_nodes(), graph.num_nodes());
  EXPECT_EQ(result.graph.nodes()[0]->name(), "image");
}

// A cast-like node behind every output of `a`.
RewriteResult InsertAfterA(const Graph& graph, const std::string& wanted_name) {
  Rewriter rewriter(graph);
  return rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
    std::vector<NodeEntry> kept = rewriter.KeepNode(id, std::move(inputs));
    if (graph.node(id).name() != "a") return kept;
    return {{rewriter.Make({UnaryOp(), wanted_name, {}, {kept[0]}, {}, {}}), 0}};
  });
}

TEST(Rewriter, NewNamesAreUniqueEvenBesideNodesThatGo) {
  const Graph graph = Diamond();
  for (const char* taken : {"x", "sum", "c"}) {
    const RewriteResult result = InsertAfterA(graph, taken);
    EXPECT_EQ(result.graph.node(2).name(), std::string(taken) + "_1");
  }
  EXPECT_EQ(InsertAfterA(graph, "fresh").graph.node(2).name(), "fresh");
}

TEST(Rewriter, ProvenanceOfNewAndChangedNodes) {
  const Graph graph = Diamond();
  const RewriteResult result = InsertAfterA(graph, "cast");
  for (const NodePtr& node : result.graph.nodes()) {
    const std::string origin = node->name() == "cast" ? "a" : node->name();
    ASSERT_EQ(result.provenance.Of(node).size(), 1u) << node->name();
    EXPECT_EQ(result.provenance.Of(node)[0]->name(), origin);
  }
}

TEST(Rewriter, ProvenanceOverTwoRewrites) {
  const Graph graph = Diamond();
  const RewriteResult first = InsertAfterA(graph, "cast");
  RewriteResult second = DropNode(first.graph, "b");  // the readers of b are made anew, the cast stays
  second.provenance.Compose(first.graph, first.provenance);
  for (const NodePtr& node : second.graph.nodes()) {
    const std::vector<NodePtr> origins = second.provenance.Of(node);
    ASSERT_EQ(origins.size(), 1u) << node->name();
    EXPECT_EQ(origins[0]->name(), node->name() == "cast" ? "a" : node->name());
    EXPECT_TRUE(graph.Contains(origins[0].get())) << node->name();
  }
}

TEST(Rewriter, NodesThatAreThrownAwayLeaveNoProvenance) {
  Symbol chain = Var("x");
  for (int i = 0; i < 50; ++i) chain = FakeOp("_fake_unary", "n" + std::to_string(i), {chain});
  const Graph graph = chain.ToGraph();
  Rewriter rewriter(graph);
  const RewriteResult result = rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
    const Node& node = graph.node(id);
    if (node.is_variable()) return rewriter.KeepNode(id, std::move(inputs));
    rewriter.Make({UnaryOp(), "tried", {}, inputs, {}, {}});  // its memory must not come back as another node's
    return {{rewriter.Make({UnaryOp(), "new_" + node.name(), {}, inputs, {}, {}}), 0}};
  });
  for (const NodePtr& node : result.graph.nodes()) {
    if (node->is_variable()) continue;
    const std::vector<NodePtr>& origins = result.provenance.Of(node);
    ASSERT_EQ(origins.size(), 1u) << node->name();
    EXPECT_EQ("new_" + origins[0]->name(), node->name());
  }
}

TEST(Rewriter, ControlDependenciesFollow) {
  const NodePtr x = Node::Variable("x");
  const NodePtr a = Node::Make({UnaryOp(), "a", {}, {{x, 0}}, {}, {}});
  const NodePtr b = Node::Make({UnaryOp(), "b", {}, {{a, 0}}, {}, {}});
  const NodePtr c = Node::Make({UnaryOp(), "c", {}, {{x, 0}}, {b}, {}});
  const Graph graph({{c, 0}});
  EXPECT_EQ(PrintGraph(DropNode(graph, "b").graph),
            "%0 x = null()\n%1 a = _fake_unary(%0)\n%2 c = _fake_unary(%0) after %1\noutputs: %2\n");
  EXPECT_EQ(PrintGraph(DropNode(graph, "a").graph),
            "%0 x = null()\n%1 b = _fake_unary(%0)\n%2 c = _fake_unary(%0) after %1\noutputs: %2\n");
}

TEST(Rewriter, TheWrongNumberOfEntriesIsOurMistake) {
  const Graph graph = Diamond();
  const std::string error = ErrorOf<InternalError>([&] { DropNode(graph, "c"); });  // has a hidden output
  EXPECT_EQ(error, "a rewrite of _fake_state 'c' gave 1 entries for 2 outputs");
}

TEST(Rewriter, HeadsCanBeMapped) {
  const Symbol x = Var("x");
  const Symbol u = FakeOp("_fake_unary", "u", {x});
  const Graph graph({EntryOf(u), EntryOf(x), EntryOf(u)});
  Rewriter rewriter(graph);
  const RewriteResult result =
      rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) { return rewriter.KeepNode(id, std::move(inputs)); },
                   [&](std::size_t index, NodeEntry mapped) -> NodeEntry {
                     if (index == 0) return mapped;
                     return {rewriter.Make({UnaryOp(), "head", {}, {mapped}, {}, {}}), 0};
                   });
  EXPECT_EQ(PrintGraph(result.graph),
            "%0 x = null()\n"
            "%1 u = _fake_unary(%0)\n"
            "%2 head = _fake_unary(%0)\n"
            "%3 head_1 = _fake_unary(%1)\n"
            "outputs: %1 %2 %3\n");
  EXPECT_TRUE(result.changed);
  EXPECT_EQ(result.provenance.Of(result.graph.nodes()[2])[0]->name(), "x");
  EXPECT_EQ(result.provenance.Of(result.graph.nodes()[3])[0]->name(), "u");
}

TEST(Rewriter, NewNodesKeepThePhase) {
  const NodePtr x = Node::Variable("x");
  const NodePtr g = Node::Make({UnaryOp(), "g", {}, {{x, 0}}, {}, Phase::kBackward});
  const Graph graph({{g, 0}});
  Rewriter rewriter(graph);
  const RewriteResult result = rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
    if (graph.node(id).is_variable()) return rewriter.KeepNode(id, std::move(inputs));
    return {{rewriter.Make({UnaryOp(), "new", {}, inputs, {}, {}}), 0}};
  });
  EXPECT_EQ(result.graph.node(1).phase(), Phase::kBackward);
}

TEST(Rewriter, OneOutputMayChangeAlone) {
  const Symbol split = FakeOp("_fake_split", "s", {Var("x")}, {{"num_outputs", "2"}});
  const Graph graph = FakeOp("_fake_pair", "p", {split.At(0), split.At(1)}).ToGraph();
  Rewriter rewriter(graph);
  const RewriteResult result = rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) {
    std::vector<NodeEntry> kept = rewriter.KeepNode(id, std::move(inputs));
    if (kept.size() == 2) kept[1] = {rewriter.Make({UnaryOp(), "c", {}, {kept[1]}, {}, {}}), 0};
    return kept;
  });
  EXPECT_EQ(PrintGraph(result.graph),
            "%0 x = null()\n"
            "%1 s = _fake_split(%0) num_outputs=2\n"
            "%2 c = _fake_unary(%1.1)\n"
            "%3 p = _fake_pair(%1, %2)\n"
            "outputs: %3\n");
}

}  // namespace
}  // namespace amp
