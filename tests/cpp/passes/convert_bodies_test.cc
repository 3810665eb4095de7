#include "passes/convert_bodies.h"

#include <gtest/gtest.h>

#include <utility>

#include "nnvm/compose.h"
#include "passes/conversion.h"
#include "passes/loops.h"
#include "passes/pipelines.h"
#include "passes/runs_bodies.h"

namespace amp::testing {
namespace {

Symbol BodyDense(const std::string& name, const Symbol& data, const Symbol& weight) {
  return Op("FullyConnected", name, {data, weight}, {{"num_hidden", "4"}, {"no_bias", "True"}});
}

// A _foreach over x that keeps nothing but its state s; w is the same in all steps.
Symbol Loop(const Symbol& body) {
  std::vector<NodeEntry> inputs;
  AttrMap places;
  const char* names[] = {"x", "s", "w"};
  const char* locations[] = {"in_data_locs", "in_state_locs", "remain_locs"};
  const Graph graph = Symbol(body.outputs()).ToGraph();
  for (std::size_t i = 0; i < 3; ++i) {
    inputs.push_back(Var(std::string("outer_") + names[i]).outputs()[0]);
    for (std::size_t place = 0; place < graph.variables().size(); ++place) {
      if (graph.node(graph.variables()[place]).name() == names[i]) places[locations[i]] = fmt::format("({},)", place);
    }
  }
  return Foreach(body, std::move(inputs), std::move(places));
}

struct Found {
  std::string body;                  // "FullyConnected fc(x w)", in graph order
  std::vector<std::string> inputs;   // of the loop
  std::vector<std::string> why_not;  // of its bodies
  std::set<std::string> low_variables;
};

Found Convert(const Symbol& symbol, const ConvertOptions& options = {}) {
  Conversion c(symbol, {}, {}, options, nullptr);
  RunConversion(c);
  Found found;
  for (const NodePtr& node : c.model.graph().nodes()) {
    if (!HasBodies(*node)) continue;
    for (const NodeEntry& input : node->inputs()) found.inputs.push_back(input.node->name());
    const Graph body(node->subgraphs()[0]);
    for (const NodePtr& inner : body.nodes()) {
      if (inner->is_variable()) continue;
      std::string read;
      for (const NodeEntry& input : inner->inputs()) read += (read.empty() ? "" : " ") + input.node->name();
      found.body += (found.body.empty() ? "" : ", ") + inner->op_name() + " " + inner->name() + "(" + read + ")";
    }
  }
  for (const ConvertedBody& body : c.bodies.bodies) {
    found.why_not.push_back(body.why_not);
    found.low_variables.insert(body.low_variables.begin(), body.low_variables.end());
  }
  return found;
}

Symbol Chained() {
  const Symbol w = Var("w");
  const Symbol both = Op("elemwise_add", "sum", {BodyDense("fx", Var("x"), w), BodyDense("fs", Var("s"), w)});
  return Loop(Op("relu", "act", {both}));
}

Symbol Summed() { return Loop(Op("elemwise_add", "sum", {BodyDense("fx", Var("x"), Var("w")), Var("s")})); }

TEST(ConvertBodies, AStateThatIsReadAndWrittenLowIsLow) {
  const Found found = Convert(Chained());
  EXPECT_EQ(found.body, "FullyConnected fx(x w), FullyConnected fs(s w), elemwise_add sum(fx fs), relu act(sum)");
  EXPECT_EQ(found.low_variables, (std::set<std::string>{"s", "w", "x"}));
  EXPECT_EQ(found.inputs, (std::vector<std::string>{"outer_x_0_amp_cast_bfloat16", "outer_s_0_amp_cast_bfloat16",
                                                    "outer_w_0_amp_cast_bfloat16"}));
}

TEST(ConvertBodies, AStateThatIsSummedUpIsWide) {
  const Found found = Convert(Summed());
  EXPECT_EQ(found.body, "FullyConnected fx(x w), elemwise_add sum(fx s)");
  EXPECT_EQ(found.low_variables, (std::set<std::string>{"w", "x"}));
  EXPECT_EQ(found.inputs[1], "outer_s");
}

TEST(ConvertBodies, InTrainingCastsStayInside) {
  ConvertOptions options;
  options.training = true;
  const Found found = Convert(Chained(), options);
  EXPECT_EQ(found.inputs, (std::vector<std::string>{"outer_x", "outer_s", "outer_w"}));
  EXPECT_TRUE(found.low_variables.empty());
  EXPECT_NE(found.body.find("amp_cast s_0_amp_cast_bfloat16(s)"), std::string::npos) << found.body;
}

TEST(ConvertBodies, NamesSayWhichGraphTheyMean) {
  ConvertOptions options;
  options.excluded = {"loop/body/f?"};
  EXPECT_EQ(Convert(Chained(), options).body.find("amp_cast"), std::string::npos);
  EXPECT_TRUE(Convert(Chained(), options).low_variables.empty());
  options.excluded = {"loop"};
  EXPECT_EQ(Convert(Chained(), options).why_not, (std::vector<std::string>{"the caller chose the dtypes of 'loop'"}));
  options.excluded = {"loop/body/none"};
  EXPECT_THROW(Convert(Chained(), options), ArgumentError);
}

TEST(ConvertBodies, PatternsMeanNodesWhateverTheirNames) {
  for (const char* name : {"!f", "^f", "-f", "f\\", "\\f", "f]", "[f", "[f]", "f*", "f?", "a/f", "fü"}) {
    const Symbol w = Var("w"), fx = BodyDense(name, Var("x"), w), fs = BodyDense("fs", Var("s"), w);
    const Symbol loop = Loop(Op("relu", "act", {Op("elemwise_add", "sum", {fx, fs})}));
    ConvertOptions options;
    options.excluded = {"loop/body/*"};
    EXPECT_EQ(Convert(loop, options).body.find("amp_cast"), std::string::npos) << name;
    EXPECT_TRUE(Convert(loop, options).low_variables.empty()) << name;
    options.excluded = {std::string("loop/body/") + name};
    const Found found = Convert(loop, options);
    EXPECT_NE(found.body.find("amp_cast"), std::string::npos) << name;  // for fs
    EXPECT_FALSE(found.low_variables.contains("x")) << name;
  }
}

TEST(ConvertBodies, NamesOfTheGraphAroundAreNoPatterns) {
  ConvertOptions options;
  options.excluded = {"*/f?"};
  const Symbol around = BodyDense("*/f?", Chained(), Var("last"));
  EXPECT_EQ(Convert(around, options).low_variables, (std::set<std::string>{"s", "w", "x"}));
}

TEST(ConvertBodies, LimitsLeaveThem) {
  ConvertOptions options;
  const auto stays = [&options] {
    const Found found = Convert(Chained(), options);
    EXPECT_EQ(found.why_not, (std::vector<std::string>{"limits do not measure what is inside of bodies"}));
    EXPECT_EQ(found.body, "FullyConnected fx(x w), FullyConnected fs(s w), elemwise_add sum(fx fs), relu act(sum)");
    EXPECT_EQ(found.inputs, (std::vector<std::string>{"outer_x", "outer_s", "outer_w"}));
  };
  options.over_limit.emplace();  // nothing exceeds them
  stays();
  for (const char* name : {"loop", "fx"}) {
    options.over_limit.emplace()[name] = "it is too long";
    stays();
  }
}

TEST(ConvertBodies, ListsOfOperatorsDecideAboutLoops) {
  const std::vector<std::string> loops{"_foreach"};
  ConvertOptions low, wide, widest, neutral;
  low.target_ops = wide.float32_ops = widest.widest_ops = loops;
  neutral.neutral_ops = loops;
  for (const ConvertOptions& options : {low, wide, widest, neutral}) {
    EXPECT_EQ(Convert(Chained(), options).why_not, (std::vector<std::string>{"the caller chose the dtypes of 'loop'"}));
  }
}

TEST(ConvertBodies, PolicyMXNetLeavesThem) {
  ConvertOptions options;
  options.policy = PrecisionPolicy::kMXNet;
  const Found found = Convert(Chained(), options);
  EXPECT_TRUE(found.low_variables.empty());
  ASSERT_EQ(found.why_not.size(), 1u);
  EXPECT_NE(found.why_not[0], "");
}

}  // namespace
}  // namespace amp::testing
