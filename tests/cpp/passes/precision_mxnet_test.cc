// Policy mxnet: the rules of MXNet's pass as a fixed point, on operators of its lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "nnvm/symbol_json.h"
#include "passes/decided.h"
#include "passes/precision/apply_decision.h"
#include "passes/precision/decide.h"
#include "passes/typed.h"
#include "passes/verify.h"

namespace amp::testing {
namespace {

std::string PrintRewritten(const Symbol& symbol, const ConvertOptions& options) {
  const Model t = MakeTyped(symbol);
  const RewriteResult result = ApplyDecision(t.graph(), Decide(t, options));
  EXPECT_EQ(FindViolations(result.graph), "");
  return PrintGraph(result.graph);
}

TEST(MXNetPolicy, NeutralOperatorsFollowAnyLowInput) {
  const Symbol fc = Dense2x2("fc", Var("x"));
  EXPECT_EQ(Produced(Op("Activation", "a", {fc}, {{"act_type", "relu"}}), MXNetOptions())["a"], "bfloat16");
  EXPECT_EQ(Produced(Op("Activation", "a", {Var("y")}, {{"act_type", "relu"}}), MXNetOptions())["a"], "float32");
  // One low input is enough for `where`; the other is cast.
  const std::string text = PrintRewritten(Op("where", "w", {Var("c"), fc, Var("y")}), MXNetOptions());
  EXPECT_CONTAINS(text, "y_0_amp_cast_bfloat16");
  EXPECT_FALSE(Contains(text, "c_0_amp_cast"));  // a condition is never rounded
}

TEST(MXNetPolicy, WidestOperatorsNeedAllInputsAndAddNoCasts) {
  const Symbol x = Var("x"), a = Dense2x2("a", x), b = Dense2x2("b", x);
  EXPECT_EQ(Produced(Op("elemwise_add", "s", {a, b}), MXNetOptions())["s"], "bfloat16");
  EXPECT_EQ(Produced(Op("elemwise_add", "s", {a, Var("y")}), MXNetOptions())["s"], "float32");
  // The variable exists in low precision, because a product has it cast.
  EXPECT_EQ(Produced(Op("elemwise_add", "s", {a, x}), MXNetOptions())["s"], "bfloat16");
  EXPECT_EQ(Produced(Op("elemwise_add", "s", {a, a}), MXNetOptions())["s"], "bfloat16");
  // Parameters are no exception.
  EXPECT_EQ(Produced(Op("broadcast_add", "s", {a, Var("p")}), MXNetOptions(), {"p"})["s"], "float32");
}

TEST(MXNetPolicy, Float32OperatorsReadTheirOriginalDTypes) {
  const Symbol fc = Dense2x2("fc", Var("x"));
  EXPECT_CONTAINS(PrintRewritten(Op("Dropout", "d", {fc}), MXNetOptions()), "d = Dropout(%5)");
  EXPECT_EQ(Produced(Op("Dropout", "d", {fc}), MXNetOptions())["d"], "float32");
}

TEST(MXNetPolicy, HeadsAreCastBackUnderMXNetsNames) {
  const Model t = MakeTyped(Dense2x2("fc1", Var("x")));
  const RewriteResult result = ApplyDecision(t.graph(), Decide(t, MXNetOptions()));
  EXPECT_EQ(Symbol(result.graph.outputs()).ListOutputs(), std::vector<std::string>{"fc1_0_amp_cast_float32_output"});
}

// A chain of neutral operators with several inputs, which MXNet's two passes leave to the order of nodes (W4).
TEST(MXNetPolicy, SpreadsFurtherThanTwoPasses) {
  // where(c, x_i, x_i+1) is low as soon as x_i exists in low precision; then x_i+1 does, too: it is cast for it.
  std::map<std::string, Symbol> shared;
  const auto var = [&](const std::string& name) { return shared.emplace(name, Var(name)).first->second; };
  std::vector<Symbol> heads;
  for (int i = 5; i >= 0; --i) {
    heads.push_back(Op("where", "w" + std::to_string(i),
                       {var("c"), var("x" + std::to_string(i)), var("x" + std::to_string(i + 1))}));
  }
  heads.push_back(Dense2x2("fc", var("x0")));
  std::mt19937 random(3);
  for (int order = 0; order < 10; ++order) {
    const auto produced = Produced(Symbol::Group(heads), MXNetOptions());
    for (const auto& [name, dtype] : produced) EXPECT_EQ(dtype, "bfloat16") << name;
    std::shuffle(heads.begin(), heads.end(), random);
  }
}

// Contract 1, test 4: the neutral branch is low because its sibling has the tensor cast, in either order.
TEST(MXNetPolicy, ASiblingsCastCountsInEitherOrder) {
  const Symbol t = Op("exp", "t", {Var("x")});
  const Symbol flat = Op("Flatten", "flat", {t}), fc = Dense2x2("fc", t);
  for (const auto& heads : {Symbol::Group({flat, fc}), Symbol::Group({fc, flat})}) {
    const std::string text = PrintRewritten(heads, MXNetOptions());
    EXPECT_CONTAINS(text, "t_0_amp_cast_bfloat16");
    EXPECT_CONTAINS(text, "flat_0_amp_cast_float32");
    EXPECT_EQ(Produced(heads, MXNetOptions())["flat"], "bfloat16");
  }
}

TEST(MXNetPolicy, BatchNormKeepsItsParametersAndLayerNormDoesNot) {
  const Symbol fc = Dense2x2("fc", Var("x"));
  const Symbol bn = Op("BatchNorm", "bn", {fc, Var("g"), Var("b"), Var("m"), Var("v")}, {{"axis", "1"}});
  const TypeMap known{{"g", {DType::kFloat32, {2}}},
                      {"b", {DType::kFloat32, {2}}},
                      {"m", {DType::kFloat32, {2}}},
                      {"v", {DType::kFloat32, {2}}}};
  const Model t = MakeTyped(bn, {}, known);
  const std::string text = PrintGraph(ApplyDecision(t.graph(), Decide(t, MXNetOptions())).graph);
  EXPECT_FALSE(Contains(text, "g_0_amp_cast"));
  EXPECT_CONTAINS(text, "bn_0_amp_cast_float32");
  const Symbol ln = Op("LayerNorm", "ln", {fc, Var("g"), Var("b")});
  const Model l = MakeTyped(ln, {}, {known.begin(), std::next(known.begin(), 2)});
  const std::string layer = PrintGraph(ApplyDecision(l.graph(), Decide(l, MXNetOptions())).graph);
  EXPECT_CONTAINS(layer, "g_0_amp_cast_bfloat16");
}

// W7: all inputs low makes the outputs low, and outputs are still cast back.
TEST(MXNetPolicy, MulticastOfLowTensorsIsLow) {
  const Symbol x = Var("x");
  const Symbol both =
      Op("amp_multicast", "a_amp_multicast", {Dense2x2("a", x), Dense2x2("b", x)}, {{"num_outputs", "2"}});
  const Symbol sum = Op("elemwise_add", "s", {both.At(0), both.At(1)});
  const std::string text = PrintRewritten(Symbol::Group({sum, both.At(0)}), MXNetOptions());
  EXPECT_FALSE(Contains(text, "= amp_multicast"));
  EXPECT_CONTAINS(text, "s = elemwise_add(%4, %7)");
  EXPECT_CONTAINS(text, "a_0_amp_cast_float32 = amp_cast(%4)");
}

TEST(MXNetPolicy, ListsOfTheCallReplaceThePublishedOnes) {
  ConvertOptions options = MXNetOptions();
  options.target_ops = {{"exp"}};
  const Symbol net = Dense2x2("fc", Op("exp", "e", {Var("x")}));
  EXPECT_EQ(Produced(net, options)["e"], "bfloat16");
  EXPECT_EQ(Produced(net, options)["fc"], "bfloat16");  // in no list any more: neutral, and its input is low
  EXPECT_EQ(Produced(Dense2x2("fc", Var("x")), options)["fc"], "float32");
  options = MXNetOptions();
  options.float32_ops = {{"FullyConnected"}};
  options.target_ops = {{"_npx_relu"}};  // an alias
  EXPECT_EQ(Produced(Op("relu", "r", {Dense2x2("fc", Var("x"))}), options)["r"], "bfloat16");
}

TEST(MXNetPolicy, ConditionalOperators) {
  const Symbol selu = Op("LeakyReLU", "l", {Dense2x2("fc", Var("x"))}, {{"act_type", "selu"}});
  const Symbol leaky = Op("LeakyReLU", "l", {Dense2x2("fc", Var("x"))}, {});  // the attribute has its default
  EXPECT_EQ(Produced(selu, MXNetOptions())["l"], "float32");
  EXPECT_EQ(Produced(leaky, MXNetOptions())["l"], "bfloat16");
  ConvertOptions options = MXNetOptions();
  options.conditional = {{{"LeakyReLU", "act_type", {"leaky"}}}};
  EXPECT_EQ(Produced(leaky, options)["l"], "float32");
  EXPECT_EQ(Produced(selu, options)["l"], "bfloat16");
}

TEST(MXNetPolicy, ReasonsNameTheList) {
  const Model t = MakeTyped(Op("Dropout", "d", {Dense2x2("fc", Var("x"))}));
  const std::string text = PrintKinds(t.graph(), Decide(t, MXNetOptions()));
  EXPECT_CONTAINS(text, "fc.data <- bfloat16: listed (FullyConnected is in MXNet's target_dtype_ops for bfloat16)");
  EXPECT_CONTAINS(text, "d.data <- float32: listed (Dropout is in MXNet's fp32_ops for bfloat16)");
}

}  // namespace
}  // namespace amp::testing
