#include "passes/gradient/use_training_forms.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "passes/loops.h"
#include "passes/verify.h"

namespace amp::testing {
namespace {

Symbol Dropout(const std::string& name, const Symbol& data, const AttrMap& attrs) {
  return Op("Dropout", name, {data}, attrs);
}

// "_train_Dropout a(x __random_key__)": the operators in graph order, and what they read.
std::string PrintOperators(const RewriteResult& result) {
  EXPECT_EQ(FindViolations(result.graph), "");
  std::string text;
  for (const NodePtr& node : result.graph.nodes()) {
    if (node->is_variable()) continue;
    std::string inputs;
    for (const NodeEntry& input : node->inputs()) inputs += (inputs.empty() ? "" : " ") + input.node->name();
    text += (text.empty() ? "" : ", ") + node->op_name() + " " + node->name() + "(" + inputs + ")";
  }
  return text;
}

const AttrMap kAlways{{"mode", "always"}};

TEST(UseRandomForms, ReplacesNodesThatDrawAtInference) {
  const Symbol both = Dropout("b", Dropout("a", Var("x"), kAlways), {});
  EXPECT_EQ(PrintOperators(UseRandomForms(both.ToGraph())), "_train_Dropout a(x __random_key__), Dropout b(a)");
  EXPECT_EQ(PrintOperators(UseTrainingForms(both.ToGraph())),
            "_train_Dropout a(x __random_key__), _train_Dropout b(a __random_key__)");
}

TEST(UseRandomForms, ReplacesOperatorsThatDraw) {
  const Symbol noise = Op("_random_normal", "noise", {}, {{"scale", "2"}});
  const Symbol sum = Op("elemwise_add", "sum", {Op("_shuffle", "rows", {Var("x")}), noise});
  const std::string expected =
      "_draw_shuffled rows(x __random_key__), _draw noise(__random_key__), elemwise_add sum(rows noise)";
  EXPECT_EQ(PrintOperators(UseRandomForms(sum.ToGraph())), expected);
  EXPECT_EQ(PrintOperators(UseTrainingForms(sum.ToGraph())), expected);
  const RewriteResult result = UseRandomForms(noise.ToGraph());
  const AttrMap& attrs = result.graph.outputs()[0].node->attrs();
  EXPECT_EQ(attrs.at("distribution"), "normal");
  EXPECT_EQ(attrs.at("first"), "0.0");
  EXPECT_EQ(attrs.at("second"), "2.0");
}

TEST(UseRandomForms, LeavesWhatDropsNothing) {
  const Symbol none = Dropout("a", Dropout("b", Var("x"), {}), {{"mode", "always"}, {"p", "0"}});
  const RewriteResult result = UseRandomForms(none.ToGraph());
  EXPECT_FALSE(result.changed);
  EXPECT_EQ(PrintOperators(result), "Dropout b(x), Dropout a(b)");
}

TEST(UseRandomForms, FormsOfTrainingReadTheSameKey) {
  const Symbol both = Dropout("b", Dropout("a", Var("x"), kAlways), {});
  const RewriteResult random = UseRandomForms(both.ToGraph());
  const RewriteResult training = UseTrainingForms(random.graph);
  EXPECT_EQ(training.graph.variables().size(), 2u);
  const Node& b = *training.graph.outputs()[0].node;
  EXPECT_NE(b.attrs().at("stream"), b.inputs()[0].node->attrs().at("stream"));
  EXPECT_EQ(PrintOperators(training), PrintOperators(UseTrainingForms(both.ToGraph())));
}

TEST(UseRandomForms, NodesHaveStreamsOfTheirOwn) {
  const Symbol two = Symbol::Group({Dropout("a", Var("x"), kAlways), Dropout("b", Var("x"), kAlways)});
  const RewriteResult result = UseRandomForms(two.ToGraph());
  const auto stream = [&](std::size_t i) { return result.graph.outputs()[i].node->attrs().at("stream"); };
  EXPECT_NE(stream(0), stream(1));
}

TEST(UseRandomForms, StreamsDoNotDependOnNames) {
  const auto streams = [](const char* first, const char* second) {
    const RewriteResult result = UseRandomForms(Dropout(second, Dropout(first, Var("x"), kAlways), kAlways).ToGraph());
    const Node& last = *result.graph.outputs()[0].node;
    return std::pair(last.inputs()[0].node->attrs().at("stream"), last.attrs().at("stream"));
  };
  EXPECT_EQ(streams("a", "b"), streams("c", "c"));
  EXPECT_NE(streams("c", "c").first, streams("c", "c").second);
}

// A _foreach over x with the parameters of a norm, and its body.
Symbol LoopOver(const Symbol& body, std::vector<Symbol> rest) {
  std::vector<NodeEntry> inputs{Var("x").outputs()[0], Var("s").outputs()[0]};
  std::string places = "(";
  for (std::size_t i = 0; i < rest.size(); ++i) {
    inputs.push_back(rest[i].outputs()[0]);
    places += std::to_string(i + 2) + ",";
  }
  const AttrMap attrs{{"in_data_locs", "(0,)"}, {"in_state_locs", "(1,)"}, {"remain_locs", places + ")"}};
  return Foreach(body, std::move(inputs), attrs);
}

TEST(UseTrainingForms, LoopsCarryKeysAndStates) {
  const std::vector<Symbol> norm{Var("gamma"), Var("beta"), Var("mean"), Var("variance")};
  const Symbol dropped = Dropout("drop", Op("elemwise_add", "sum", {Var("x"), Var("s")}), {});
  const Symbol loop = LoopOver(Op("BatchNorm", "norm", {dropped, norm[0], norm[1], norm[2], norm[3]}), norm);
  const RewriteResult result = UseTrainingForms(loop.ToGraph());
  EXPECT_EQ(PrintOperators(result),
            "_draw_key loop_random_key(__random_key__), "
            "_foreach loop(x s loop_random_key mean variance gamma beta)");
  const Node& node = *result.graph.outputs()[0].node;
  EXPECT_EQ(node.attrs().at("num_carried"), "3");
  EXPECT_EQ(node.attrs().at("in_state_locs"), "(1, 2, 5, 6)");
  EXPECT_EQ(node.num_visible_outputs(), 1);
  EXPECT_EQ(PrintOperators({Graph(node.subgraphs()[0]), {}, true}),
            "elemwise_add sum(x s), _train_Dropout drop(sum __random_key__), "
            "_train_BatchNorm norm(drop gamma beta mean variance), _draw_key next_random_key(__random_key__), "
            "_moving_average norm_update0(mean norm), _moving_average norm_update1(variance norm)");
  const auto updates = StateUpdates(result.graph);
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_EQ(updates[0].first, "mean");
  EXPECT_EQ(updates[0].second, (NodeEntry{result.graph.outputs()[0].node, 2}));
  EXPECT_EQ(updates[1].second, (NodeEntry{result.graph.outputs()[0].node, 3}));
  EXPECT_FALSE(UseTrainingForms(result.graph).changed);
}

TEST(UseTrainingForms, LoopsWithOtherBodiesStayTheSame) {
  const Symbol loop = LoopOver(Op("elemwise_add", "sum", {Var("x"), Var("s")}), {});
  EXPECT_FALSE(UseTrainingForms(loop.ToGraph()).changed);
  const Symbol dropping = LoopOver(Dropout("drop", Op("elemwise_add", "sum", {Var("x"), Var("s")}), {}), {});
  EXPECT_FALSE(UseRandomForms(dropping.ToGraph()).changed);
}

}  // namespace
}  // namespace amp::testing
