#include "passes/mark_backward.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/symbol_json.h"
#include "passes/alternate.h"
#include "passes/convert_symbol.h"
#include "passes/fusion_mxnet/fuse_mxnet.h"
#include "passes/fusion_mxnet/unfuse.h"
#include "passes/gradient/gradient.h"
#include "passes/random_models.h"
#include "passes/verify.h"

namespace amp::testing {
namespace {

Phase PhaseOf(const Symbol& symbol, const std::string& name) {
  const Graph graph = symbol.ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    if (node->name() == name) return node->phase();
  }
  ADD_FAILURE() << "no node " << name;
  return Phase::kForward;
}

// An auxiliary head that does not descend from the boundary, sorted behind it.
Symbol Training() {
  const Symbol y = Op("exp", "y", {Var("x")});
  const Symbol dy = Op("elemwise_mul", "dy", {y, Var("head")});
  const Symbol dx = Op("negative", "dx", {dy});
  return Symbol::Group({y, dx, Op("sqrt", "metric", {y})});
}

TEST(MarkBackward, MarksWhatDescendsFromTheBoundary) {
  const Symbol marked = MarkBackward(Training(), {"head"});
  EXPECT_EQ(PhaseOf(marked, "y"), Phase::kForward);
  EXPECT_EQ(PhaseOf(marked, "metric"), Phase::kForward);
  EXPECT_EQ(PhaseOf(marked, "dy"), Phase::kBackward);
  EXPECT_EQ(PhaseOf(marked, "dx"), Phase::kBackward);
  EXPECT_EQ(PhaseOf(marked, "head"), Phase::kForward);  // a variable
  EXPECT_EQ(ToSymbolJson(MarkBackward(marked, {"head"})), ToSymbolJson(marked));
}

TEST(MarkBackward, AnOperatorOfTheBoundaryIsMarkedItself) {
  const Symbol marked = MarkBackward(Training(), {"dx"});
  EXPECT_EQ(PhaseOf(marked, "dy"), Phase::kForward);
  EXPECT_EQ(PhaseOf(marked, "dx"), Phase::kBackward);
}

TEST(MarkBackward, AnEmptyBoundaryClearsMarks) {
  EXPECT_EQ(ToSymbolJson(MarkBackward(MarkBackward(Training(), {"head"}), {})), ToSymbolJson(Training()));
}

TEST(MarkBackward, FilesKeepMarks) {
  const Symbol marked = MarkBackward(Training(), {"head"});
  const Symbol read = ParseSymbolJson(ToSymbolJson(marked), "test");
  EXPECT_EQ(PhaseOf(read, "dx"), Phase::kBackward);
  EXPECT_EQ(PhaseOf(read, "metric"), Phase::kForward);
  EXPECT_EQ(ToSymbolJson(read), ToSymbolJson(marked));
  EXPECT_EQ(read.AttrDict().at("dx").at(kBackwardAttr), "1");
}

TEST(MarkBackward, WhatReadsBackwardNodesIsOne) {
  const Symbol marked = MarkBackward(Training(), {"head"});
  EXPECT_EQ(PhaseOf(Op("square", "norm", {marked.At(1)}), "norm"), Phase::kBackward);
  std::string text = ToSymbolJson(marked);
  text.erase(text.find("\"__backward__\"", text.find("\"dx\"")), std::string("\"__backward__\": \"1\"").size());
  EXPECT_EQ(PhaseOf(ParseSymbolJson(text, "test"), "dx"), Phase::kBackward);
}

TEST(MarkBackward, RefusesUnknownNames) {
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] {
                    MarkBackward(Training(), {"haed", "nothing"});
                  }),
                  "'haed'; did you mean");
}

// ---- fused nodes ----

std::map<std::string, Phase> PhasesOf(const Symbol& symbol) {
  std::map<std::string, Phase> phases;
  const Graph graph = symbol.ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_variable()) phases[node->name()] = node->phase();
  }
  return phases;
}

// Checks every fused node against the marks of what it stands for; returns how many are backward ones, and how many
// stand for several nodes.
std::pair<int, int> CheckFused(const Symbol& fused, const std::map<std::string, Phase>& marks) {
  int num_backward = 0, num_of_several = 0;
  const Graph graph = fused.ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    if (node->is_variable() || !IsFused(*node) || node->subgraphs().empty()) continue;
    int members = 0;
    const Graph body(node->subgraphs()[0]);
    for (const NodePtr& inner : body.nodes()) {
      if (inner->is_variable()) continue;
      ++members;
      EXPECT_EQ(marks.at(inner->name()), node->phase()) << node->name() << " stands for " << inner->name();
    }
    num_backward += node->phase() == Phase::kBackward;
    num_of_several += members > 1;
  }
  return {num_backward, num_of_several};
}

// A forward and a backward node are neighbours where the boundary is an operator.
TEST(MarkBackward, FusedNodesAreOfThePhaseOfAllThatTheyStandFor) {
  int num_backward = 0, num_of_several = 0, num_models = 0;
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    const testing::RandomModel model = testing::RandomModelMaker(seed).Make(14);
    ConvertOptions options;
    options.policy = seed % 2 == 0 ? PrecisionPolicy::kDefault : PrecisionPolicy::kMXNet;
    const Symbol converted = ConvertSymbol(model.symbol, model.params, model.input_types, options).symbol;
    std::vector<std::string> names;
    for (const auto& [name, phase] : PhasesOf(converted)) names.push_back(name);
    const Symbol marked = MarkBackward(converted, {names[seed % names.size()]});
    const std::map<std::string, Phase> marks = PhasesOf(marked);
    const Symbol fused = OptimizeFor(marked, seed % 3 == 0 ? "MKLDNN" : "ONEDNN", model.input_types);
    const auto [backward, several] = CheckFused(fused, marks);
    num_backward += backward;
    num_of_several += several;
    // opened and fused again, as conversion does
    const RewriteResult opened = Unfuse(fused.ToGraph());
    for (const auto& [name, phase] : PhasesOf(Symbol(opened.graph.outputs()))) EXPECT_EQ(marks.at(name), phase) << name;
    const Graph again = FuseAgain(opened.graph, Types(opened.graph.num_entries()), OriginsOf(opened));
    EXPECT_EQ(CheckFused(Symbol(again.outputs()), marks), CheckFused(fused, marks));
    EXPECT_EQ(FindViolations(again), "");
    ++num_models;
  }
  EXPECT_GT(num_backward, num_models / 4);
  EXPECT_GT(num_of_several, num_models / 8);
}

TEST(MarkBackward, ARelayBetweenThePhasesIsNotFused) {
  const Symbol fc = Op("FullyConnected", "fc", {Var("x")}, {{"num_hidden", "4"}});
  const Symbol act = Op("Activation", "act", {fc}, {{"act_type", "relu"}});
  const auto nodes = [&](const std::vector<std::string>& boundary) {
    return PhasesOf(OptimizeFor(MarkBackward(act, boundary), "ONEDNN", {}));
  };
  using Phases = std::map<std::string, Phase>;
  EXPECT_EQ(nodes({}), (Phases{{"sg_onednn_fully_connected_eltwise_0", Phase::kForward}}));
  EXPECT_EQ(nodes({"fc"}), (Phases{{"sg_onednn_fully_connected_eltwise_0", Phase::kBackward}}));
  EXPECT_EQ(nodes({"act"}), (Phases{{"sg_onednn_fully_connected_0", Phase::kForward}, {"act", Phase::kBackward}}));
}

TEST(Alternate, StrongestFirst) {
  const Symbol plain = MarkBackward(Training(), {"head"});
  const Graph graph = plain.ToGraph();
  const Node* forward = nullptr;
  const Node* backward = nullptr;
  for (const NodePtr& node : graph.nodes()) {
    if (node->name() == "y") forward = node.get();
    if (node->name() == "dy") backward = node.get();
  }
  EXPECT_EQ(AlternateOf(*forward, {}), std::nullopt);
  EXPECT_EQ(AlternateOf(*backward, {}), AlternateMode::kAuto);
  EXPECT_EQ(AlternateOf(*forward, {.is_backward = true}), AlternateMode::kAuto);
  EXPECT_EQ(AlternateOf(*backward, {.backward = false}), std::nullopt);
  const AlternateSettings before = CurrentAlternate();
  {
    const AlternateScope outer(true, false, AlternateMode::kScaled);
    const AlternateScope inner(std::nullopt, true, std::nullopt);
    const AlternateSettings settings = CurrentAlternate();
    EXPECT_EQ(AlternateOf(*forward, settings), AlternateMode::kScaled);
    EXPECT_EQ(AlternateOf(*backward, settings), AlternateMode::kScaled);
    const NodePtr fixed = forward->WithAttrs({{kAlternateAttr, "0"}});
    EXPECT_EQ(AlternateOf(*fixed, settings), std::nullopt);
    const NodePtr wrong = forward->WithAttrs({{kAlternateAttr, "yes"}});
    EXPECT_CONTAINS(ErrorOf<GraphError>([&] { AlternateOf(*wrong, settings); }), "expected '0' or '1', got 'yes'");
  }
  EXPECT_EQ(CurrentAlternate(), before);
}

TEST(Alternate, GradientNodesFollowTheirForwardNode) {
  const Symbol y = Op("exp", "y", {Var("x")}, {{kAlternateAttr, "0"}});
  for (const auto& [name, attrs] : Gradient(y, {"x"}).AttrDict()) {
    if (attrs.contains(kBackwardAttr) && name != "x_grad") {
      EXPECT_EQ(attrs.at(kAlternateAttr), "0") << name;
    }
  }
}

}  // namespace
}  // namespace amp::testing
