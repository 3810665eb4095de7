#include "passes/gradient/use_training_forms.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
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
  EXPECT_EQ(PrintOperators(training), PrintOperators(UseTrainingForms(both.ToGraph())));
}

TEST(UseRandomForms, NodesHaveStreamsOfTheirOwn) {
  const Symbol two = Symbol::Group({Dropout("a", Var("x"), kAlways), Dropout("b", Var("x"), kAlways)});
  const RewriteResult result = UseRandomForms(two.ToGraph());
  const auto stream = [&](std::size_t i) { return result.graph.outputs()[i].node->attrs().at("stream"); };
  EXPECT_NE(stream(0), stream(1));
}

}  // namespace
}  // namespace amp::testing
