#include "passes/mark_backward.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/symbol_json.h"
#include "passes/alternate.h"
#include "passes/gradient/gradient.h"

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
