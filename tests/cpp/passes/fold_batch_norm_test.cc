#include "passes/optimize/fold_batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nnvm/compose.h"
#include "passes/convert_symbol.h"
#include "passes/model.h"
#include "passes/random_models.h"
#include "passes/verify.h"

namespace amp::testing {
namespace {

using Names = std::vector<std::string>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

NDArray Array(Shape shape, std::vector<float> values) {
  NDArray array(DType::kFloat32, std::move(shape));
  for (std::int64_t i = 0; i < array.size(); ++i) {
    array.As<float>()[i] = values[static_cast<std::size_t>(i) % values.size()];
  }
  return array;
}
std::vector<float> ElementsOf(const NDArray& array) { return {array.As<float>(), array.As<float>() + array.size()}; }

struct Case {
  Symbol symbol;
  ModelParams params;
  TypeMap types{{"data", {DType::kFloat32, Shape{1, 2, 4, 4}}}};
  std::function<bool(const Node&)> keeps = nullptr;

  Graph graph() const { return symbol.ToGraph(); }
  FoldResult Fold() const { return FoldBatchNorm(Typed(), keeps); }
  Model Typed() const { return Model(graph(), VariableTypes(graph(), params, types), {}, params); }
};

const AttrMap kOneByOne{{"kernel", "(1, 1)"}, {"num_filter", "2"}};

AttrMap With(AttrMap attrs, const AttrMap& more) {
  for (const auto& [key, value] : more) attrs[key] = value;
  return attrs;
}

void AddNorm(Case* m, const std::string& name, std::int64_t channels = 2) {
  m->params.args[name + "_gamma"] = Array({channels}, {2, 3});
  m->params.args[name + "_beta"] = Array({channels}, {0.5, -1});
  m->params.aux[name + "_moving_mean"] = Array({channels}, {1, 2});
  m->params.aux[name + "_moving_var"] = Array({channels}, {4, 16});
}

// data -> conv (1x1, 2 filters) -> bn (eps 0).
Case ConvAndNorm(const AttrMap& conv = {}, const AttrMap& norm = {}) {
  Case m;
  const AttrMap attrs = With(kOneByOne, conv);
  m.symbol = Op("BatchNorm", "bn", {Op("Convolution", "conv", {Var("data")}, attrs)},
                With({{"eps", "0"}, {"fix_gamma", "False"}}, norm));
  m.params.args["conv_weight"] = Array({2, 2, 1, 1}, {1, 2, 3, 4});
  if (!conv.contains("no_bias")) m.params.args["conv_bias"] = Array({2}, {10, 20});
  AddNorm(&m, "bn");
  return m;
}

// Why the (only) norm was kept.
std::string WhyKept(const Case& m) {
  const FoldResult result = m.Fold();
  EXPECT_FALSE(result.rewrite.changed);
  EXPECT_EQ(result.rewrite.graph.outputs(), m.symbol.outputs());
  EXPECT_TRUE(result.arrays.empty() && result.dropped.empty() && result.names.folded.empty());
  return result.names.kept.size() == 1 ? result.names.kept[0].reason
                                       : fmt::format("<{} norms were kept>", result.names.kept.size());
}

TEST(FoldBatchNorm, ScalesWeightsAndShiftsTheBias) {
  const Case m = ConvAndNorm();
  const FoldResult result = m.Fold();
  EXPECT_EQ(PrintGraph(result.rewrite.graph),
            "%0 data = null()\n"
            "%1 conv_weight = null()\n"
            "%2 conv_bias = null()\n"
            "%3 conv = Convolution(%0, %1, %2) __output_name__=bn_output kernel=(1, 1) num_filter=2\n"
            "outputs: %3\n");
  EXPECT_TRUE(result.rewrite.changed);
  EXPECT_EQ(OutputNames(result.rewrite.graph.outputs()), Names{"bn_output"});
  ASSERT_EQ(result.arrays.size(), 2u);
  // gamma / sqrt(var) is 1 and 3/4.
  EXPECT_EQ(ElementsOf(result.arrays.at("conv_weight")), (std::vector<float>{1, 2, 2.25, 3}));
  EXPECT_EQ(ElementsOf(result.arrays.at("conv_bias")), (std::vector<float>{9.5, 12.5}));
  EXPECT_EQ(result.arrays.at("conv_weight").shape(), (Shape{2, 2, 1, 1}));
  EXPECT_EQ(result.dropped, (std::set<std::string>{"bn_beta", "bn_gamma", "bn_moving_mean", "bn_moving_var"}));
  EXPECT_EQ(result.names.folded, (std::vector<FoldedBatchNorm>{{"bn", "conv"}}));
  EXPECT_TRUE(result.names.kept.empty());
  // The caller's arrays are his.
  EXPECT_EQ(ElementsOf(m.params.args.at("conv_weight")), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(ElementsOf(m.params.args.at("conv_bias")), (std::vector<float>{10, 20}));
}

TEST(FoldBatchNorm, FixedGammaCountsAsOne) {
  Case m = ConvAndNorm({}, {{"fix_gamma", "True"}});
  m.params.args["bn_gamma"] = Array({2}, {NAN});  // whatever the array holds
  EXPECT_EQ(ElementsOf(m.Fold().arrays.at("conv_weight")), (std::vector<float>{0.5, 1, 0.75, 1}));
  EXPECT_EQ(ElementsOf(m.Fold().arrays.at("conv_bias")), (std::vector<float>{5, 3.5}));
}

TEST(FoldBatchNorm, StatisticsOfManyDevicesAreNoOthers) {
  Case m = ConvAndNorm();
  m.symbol = Op("_contrib_SyncBatchNorm", "bn", {Op("Convolution", "conv", {Var("data")}, kOneByOne)},
                {{"eps", "0"}, {"fix_gamma", "False"}});
  EXPECT_EQ(ElementsOf(m.Fold().arrays.at("conv_weight")), (std::vector<float>{1, 2, 2.25, 3}));
}

TEST(FoldBatchNorm, AMissingBiasBecomesAParameter) {
  const Case m = ConvAndNorm({{"no_bias", "True"}});
  const FoldResult result = m.Fold();
  EXPECT_EQ(PrintGraph(result.rewrite.graph),
            "%0 data = null()\n"
            "%1 conv_weight = null()\n"
            "%2 conv_bias = null()\n"
            "%3 conv = Convolution(%0, %1, %2) __output_name__=bn_output kernel=(1, 1) no_bias=False num_filter=2\n"
            "outputs: %3\n");
  EXPECT_EQ(ElementsOf(result.arrays.at("conv_bias")), (std::vector<float>{-0.5, -2.5}));
  // Deconvolution has none unless it says so.
  Case d = m;
  d.symbol = Op("BatchNorm", "bn", {Op("Deconvolution", "conv", {Var("data")}, kOneByOne)}, {{"eps", "0"}});
  EXPECT_EQ(*d.Fold().rewrite.graph.outputs()[0].node->FindAttr("no_bias"), "False");
}

TEST(FoldBatchNorm, TheNewBiasHasANameOfItsOwn) {
  Case m = ConvAndNorm({{"no_bias", "True"}});
  m.params.args["conv_bias"] = Array({1}, {0});  // of nobody
  m.symbol = Op("relu", "conv_bias_1", {m.symbol});
  const FoldResult result = m.Fold();
  EXPECT_EQ(result.arrays.count("conv_bias_2"), 1u);
  EXPECT_EQ(Symbol(result.rewrite.graph.outputs()).ListArguments(), (Names{"data", "conv_weight", "conv_bias_2"}));
  EXPECT_FALSE(result.dropped.contains("conv_bias"));  // the graph never read it
}

TEST(FoldBatchNorm, InsideOfAGraphNamesNeedNoHelp) {
  Case m = ConvAndNorm();
  m.symbol = Op("relu", "act", {m.symbol});
  const FoldResult result = m.Fold();
  EXPECT_EQ(PrintGraph(result.rewrite.graph),
            "%0 data = null()\n"
            "%1 conv_weight = null()\n"
            "%2 conv_bias = null()\n"
            "%3 conv = Convolution(%0, %1, %2) kernel=(1, 1) num_filter=2\n"
            "%4 act = relu(%3)\n"
            "outputs: %4\n");
  // The producer is the caller's own node: only its arrays differ.
  EXPECT_EQ(result.rewrite.graph.outputs()[0].node->inputs()[0].node,
            m.symbol.outputs()[0].node->inputs()[0].node->inputs()[0].node);
}

TEST(FoldBatchNorm, GroupsOfADeconvolutionHaveChannelsOfTheirOwn) {
  Case m;
  m.types["data"] = {DType::kFloat32, {1, 4, 1, 1}};
  const AttrMap attrs{{"kernel", "(1, 1)"}, {"num_filter", "4"}, {"num_group", "2"}};
  m.symbol = Op("BatchNorm", "bn", {Op("Deconvolution", "up", {Var("data")}, attrs)}, {{"eps", "0"}});
  m.params.args["up_weight"] = Array({4, 2, 1, 1}, {1});  // (C, F / groups, ...)
  AddNorm(&m, "bn", 4);
  m.params.aux["bn_moving_var"] = Array({4}, {1, 4, 16, 64});
  EXPECT_EQ(ElementsOf(m.Fold().arrays.at("up_weight")), (std::vector<float>{1, .5, 1, .5, .25, .125, .25, .125}));
}

TEST(FoldBatchNorm, FullyConnectedAndItsLastAxis) {
  for (const bool flatten : {true, false}) {
    Case m;
    m.types["data"] = {DType::kFloat32, {2, 3, 2}};
    m.symbol = Op("BatchNorm", "bn",
                  {Op("FullyConnected", "fc", {Var("data")}, {{"num_hidden", "2"}, {"flatten", PrintAttr(flatten)}})},
                  {{"axis", "-1"}});
    m.params.args["fc_weight"] = Array({2, flatten ? 6 : 2}, {1});
    m.params.args["fc_bias"] = Array({2}, {1});
    AddNorm(&m, "bn");
    EXPECT_EQ(m.Fold().names.folded.size(), 1u);
  }
}

TEST(FoldBatchNorm, NormsInARowAreRoundedOnce) {
  Case m = ConvAndNorm({}, {{"eps", "0.001"}});
  m.symbol = Op("BatchNorm", "bn2", {m.symbol}, {{"fix_gamma", "False"}});
  AddNorm(&m, "bn2");
  const FoldResult result = m.Fold();
  EXPECT_EQ(result.names.folded, (std::vector<FoldedBatchNorm>{{"bn", "conv"}, {"bn2", "conv"}}));
  EXPECT_EQ(OutputNames(result.rewrite.graph.outputs()), Names{"bn2_output"});
  const double scale = 3 / std::sqrt(16.001), twice = scale * scale;
  EXPECT_EQ(result.arrays.at("conv_weight").As<float>()[2], static_cast<float>(3 * twice));
  EXPECT_EQ(result.arrays.at("conv_bias").As<float>()[1], static_cast<float>(((20 - 2.0) * scale - 1 - 2) * scale - 1));
}

TEST(FoldBatchNorm, AFirstNormIsFoldedThoughTheSecondIsNot) {
  Case m = ConvAndNorm();
  m.symbol = Op("BatchNorm", "bn2", {m.symbol}, {{"axis", "2"}});
  AddNorm(&m, "bn2", 4);
  const FoldResult result = m.Fold();
  EXPECT_EQ(result.names.folded, (std::vector<FoldedBatchNorm>{{"bn", "conv"}}));
  EXPECT_EQ(result.names.kept,
            (std::vector<UnfoldedBatchNorm>{{"bn2", "it works along axis 2, conv has its channels along axis 1"}}));
  EXPECT_EQ(ElementsOf(result.arrays.at("conv_weight")), (std::vector<float>{1, 2, 2.25, 3}));
  EXPECT_TRUE(result.dropped.contains("bn_gamma") && !result.dropped.contains("bn2_gamma"));
}

TEST(FoldBatchNorm, StatisticsMayBeShared) {
  // Two convolutions, two norms with the same parameters, one of which stays.
  Case m = ConvAndNorm();
  const Symbol gamma = Var("bn_gamma"), beta = Var("bn_beta"), mean = Var("bn_moving_mean"), var = Var("bn_moving_var");
  const Symbol x = Var("data");
  const Symbol a = Op("BatchNorm", "bn_a", {Op("Convolution", "conv", {x}, kOneByOne), gamma, beta, mean, var});
  const Symbol b = Op("BatchNorm", "bn_b", {Op("relu", "r", {x}), gamma, beta, mean, var});
  m.symbol = Symbol::Group({a, b, a});
  const FoldResult result = m.Fold();
  EXPECT_EQ(result.names.folded, (std::vector<FoldedBatchNorm>{{"bn_a", "conv"}}));
  EXPECT_EQ(
      result.names.kept,
      (std::vector<UnfoldedBatchNorm>{{"bn_b", "its input comes from relu 'r', into which nothing can be folded"}}));
  EXPECT_TRUE(result.dropped.empty());
  EXPECT_EQ(OutputNames(result.rewrite.graph.outputs()), (Names{"bn_a_output", "bn_b_output", "bn_a_output"}));
  EXPECT_EQ(FindViolations(result.rewrite.graph), "");
}

TEST(FoldBatchNorm, KeepsWhatTheUserExcludes) {
  Case m = ConvAndNorm();
  m.keeps = [](const Node& node) { return node.name() == "bn"; };
  EXPECT_EQ(WhyKept(m), "it is excluded");
  m.keeps = [](const Node& node) { return node.name() == "conv"; };
  EXPECT_EQ(WhyKept(m), "conv, which it follows, is excluded");
  m.keeps = [](const Node& node) { return node.name() == "data"; };
  EXPECT_EQ(m.Fold().names.folded.size(), 1u);
}

TEST(FoldBatchNorm, NeedsAProducerWithWeights) {
  Case m = ConvAndNorm();
  m.symbol = Op("BatchNorm", "bn", {Var("data")});
  EXPECT_EQ(WhyKept(m), "its input comes from variable 'data', into which nothing can be folded");
}

TEST(FoldBatchNorm, NeedsTheOnlyReader) {
  Case m = ConvAndNorm();
  const Symbol conv({m.symbol.outputs()[0].node->inputs()[0]});
  const Symbol norm = m.symbol;
  m.symbol = Symbol::Group({norm, conv});
  EXPECT_EQ(WhyKept(m), "its input is an output of the graph, too");
  m.symbol = Op("elemwise_add", "sum", {norm, conv});
  EXPECT_EQ(WhyKept(m), "its input is read by others, too");
}

TEST(FoldBatchNorm, HiddenOutputsMustBeUnread) {
  Case m = ConvAndNorm({}, {{"output_mean_var", "True"}});
  EXPECT_EQ(WhyKept(m), "its mean and variance are outputs, too");
  m = ConvAndNorm();
  const NodePtr node = m.symbol.outputs()[0].node;
  m.symbol = Symbol({{node, 0}, {node, 1}});
  EXPECT_EQ(WhyKept(m), "its mean or variance is read");
  m.symbol = Symbol::Group({Symbol({{node, 0}}), Op("relu", "r", {Symbol({{node, 2}})})});
  EXPECT_EQ(WhyKept(m), "its mean or variance is read");
}

TEST(FoldBatchNorm, AxesMustAgree) {
  Case m = ConvAndNorm({}, {{"axis", "-1"}});
  for (const char* name : {"gamma", "beta"}) m.params.args[std::string("bn_") + name] = Array({4}, {1});
  for (const char* name : {"moving_mean", "moving_var"}) m.params.aux[std::string("bn_") + name] = Array({4}, {1});
  EXPECT_EQ(WhyKept(m), "it works along axis -1, conv has its channels along axis 1");
  EXPECT_EQ(ConvAndNorm({}, {{"axis", "-3"}}).Fold().names.folded.size(), 1u);
  m = ConvAndNorm({{"layout", "NHWC"}});
  m.types["data"].shape = Shape{1, 2, 4, 2};
  m.params.args["conv_weight"] = Array({2, 1, 1, 2}, {1});
  EXPECT_EQ(WhyKept(m), "it works along axis 1, conv has its channels along axis 3");
}

TEST(FoldBatchNorm, NeedsARank) {
  Case m;
  m.types["data"].shape = Shape();
  m.symbol =
      Op("BatchNorm", "bn", {Op("FullyConnected", "fc", {Var("data")}, {{"num_hidden", "2"}, {"flatten", "False"}})});
  m.params.args["fc_weight"] = Array({2, 2}, {1});
  m.params.args["fc_bias"] = Array({2}, {1});
  AddNorm(&m, "bn");
  EXPECT_EQ(WhyKept(m), "the rank of its input is unknown");
  m.types["data"].shape = Shape::OfRank(2);
  EXPECT_EQ(m.Fold().names.folded.size(), 1u);
}

TEST(FoldBatchNorm, ParametersMustBeThere) {
  for (const char* name : {"conv_weight", "conv_bias", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"}) {
    Case m = ConvAndNorm();
    m.params.args.erase(name);
    m.params.aux.erase(name);
    m.types[name] = {DType::kFloat32, Shape()};  // an input then
    const std::string owner = std::string(name).starts_with("conv") ? "conv" : "bn";
    EXPECT_EQ(WhyKept(m), fmt::format("the {} of {} is no parameter with a value",
                                      std::string(name).substr(owner.size() + 1), owner));
  }
  Case m = ConvAndNorm();
  m.symbol = Op("BatchNorm", "bn",
                {Op("Convolution", "conv", {Var("data"), Op("relu", "r", {Var("conv_weight")})}, kOneByOne)});
  EXPECT_EQ(WhyKept(m), "the weight of conv comes from relu 'r'");
}

TEST(FoldBatchNorm, ParametersMustBeFloat32) {
  Case m = ConvAndNorm();
  m.params.args["conv_weight"] = NDArray::Zeros(DType::kBFloat16, {2, 2, 1, 1});
  m.params.args["conv_bias"] = NDArray::Zeros(DType::kBFloat16, {2});
  m.types["data"].dtype = DType::kBFloat16;
  EXPECT_EQ(WhyKept(m), "the weight of conv is bfloat16, not float32");
}

// Arrays that do not fit the graph's types: inference would not let them pass, other callers might.
TEST(FoldBatchNorm, ParametersMustFit) {
  const Case m = ConvAndNorm();
  const Graph graph = m.graph();
  const TypeMap types = VariableTypes(graph, m.params, m.types);
  const auto reason = [&](const std::string& name, NDArray array) {
    ModelParams params = m.params;
    (params.args.contains(name) ? params.args : params.aux)[name] = std::move(array);
    return FoldBatchNorm(Model(graph, types, {}, params), nullptr).names.kept.at(0).reason;
  };
  EXPECT_EQ(reason("conv_weight", Array({2, 2}, {1})), "the weight of conv has the shape [2,2] instead of [2,2,1,1]");
  EXPECT_EQ(reason("conv_bias", Array({3}, {1})), "the bias of conv has the shape [3] instead of [2]");
  EXPECT_EQ(reason("bn_gamma", Array({1, 2}, {1})), "the gamma of bn has the shape [1,2] instead of [2]");
  EXPECT_EQ(reason("bn_moving_var", NDArray()), "the moving_var of bn is no parameter with a value");
  EXPECT_EQ(reason("bn_beta", NDArray::Zeros(DType::kFloat64, {2})), "the beta of bn is float64, not float32");
}

TEST(FoldBatchNorm, SharedWeightsStay) {
  Case m = ConvAndNorm();
  const Symbol x = Var("data"), w = Var("conv_weight"), b = Var("conv_bias");
  const Symbol norm = Op("BatchNorm", "bn", {Op("Convolution", "conv", {x, w, b}, kOneByOne)});
  m.symbol = Symbol::Group({norm, Op("Convolution", "other", {x, w}, With(kOneByOne, {{"no_bias", "True"}}))});
  EXPECT_EQ(WhyKept(m), "the weight of conv is shared");
  m.symbol = Symbol::Group({norm, Op("relu", "r", {b})});
  EXPECT_EQ(WhyKept(m), "the bias of conv is shared");
  m.symbol = Symbol::Group({norm, w});
  EXPECT_EQ(WhyKept(m), "the weight of conv is an output of the graph, too");
  m.symbol = Symbol::Group({norm, b});
  EXPECT_EQ(WhyKept(m), "the bias of conv is an output of the graph, too");
}

TEST(FoldBatchNorm, AStateThatIsAnOutputStaysAState) {
  Case m = ConvAndNorm();
  m.symbol = Symbol::Group({m.symbol, Symbol({m.symbol.outputs()[0].node->inputs()[3]})});
  EXPECT_EQ(WhyKept(m), "the moving_mean of bn is an output of the graph, too");
}

TEST(FoldBatchNorm, NumbersMustBeFinite) {
  const auto reason = [](const std::string& name, float value) {
    Case m = ConvAndNorm();
    NDArrayMap& group = m.params.args.contains(name) ? m.params.args : m.params.aux;
    group[name] = Array(group[name].shape(), {1, value});
    return WhyKept(m);
  };
  EXPECT_EQ(reason("bn_moving_var", 0), "its variance plus eps is 0 in channel 1");
  EXPECT_EQ(reason("bn_moving_var", -1), "its variance plus eps is -1 in channel 1");
  EXPECT_EQ(reason("bn_moving_var", NAN), "its variance plus eps is nan in channel 1");
  const std::string not_finite = "folding it would give weights that are not finite";
  for (const char* name : {"bn_gamma", "bn_beta", "bn_moving_mean", "conv_weight", "conv_bias"}) {
    for (const float value : {NAN, kInfinity, -kInfinity}) EXPECT_EQ(reason(name, value), not_finite) << name;
  }
  Case m = ConvAndNorm();
  m.params.args["conv_weight"] = Array({2, 2, 1, 1}, {3e38f});
  m.params.aux["bn_moving_var"] = Array({2}, {1e-4f});
  EXPECT_EQ(WhyKept(m), not_finite);
}

TEST(FoldBatchNorm, ControlDependenciesHoldNodes) {
  const Case m = ConvAndNorm();
  const NodePtr norm = m.symbol.outputs()[0].node, conv = norm->inputs()[0].node;
  const NodePtr free = NodeOf(Op("relu", "free", {Var("more")}));
  const auto reason = [&](const Symbol& symbol) {
    Case changed = m;
    changed.types["more"] = {DType::kFloat32, {1}};
    changed.symbol = symbol;
    return WhyKept(changed);
  };
  const std::string held = "control dependencies hold it or conv";
  EXPECT_EQ(reason(Symbol({{norm->WithInputs(norm->inputs(), {free}), 0}})), held);
  for (const NodePtr& waited_for : {norm, conv}) {
    const NodePtr waits = free->WithInputs(free->inputs(), {waited_for});
    EXPECT_EQ(reason(Symbol({{norm, 0}, {waits, 0}})), held);
  }
}

TEST(FoldBatchNorm, TheBackwardPassIsLeftAlone) {
  Case m = ConvAndNorm();
  const NodePtr norm = m.symbol.outputs()[0].node;
  m.symbol = Symbol({{Node::Make({norm->op(), "bn", norm->attrs(), norm->inputs(), {}, Phase::kBackward}), 0}});
  EXPECT_EQ(WhyKept(m), "it is not part of the forward pass");
}

TEST(FoldBatchNorm, AGraphWithoutNormsIsNotChanged) {
  Case m;
  m.symbol = Op("relu", "r", {Var("data")});
  const FoldResult result = m.Fold();
  EXPECT_FALSE(result.rewrite.changed);
  EXPECT_TRUE(result.names.folded.empty() && result.names.kept.empty() && result.dropped.empty() &&
              result.arrays.empty());
}

// --- into the reader ---

FoldResult FoldBoth(const Case& m) {
  FoldResult result = FoldBatchNorm(m.Typed(), m.keeps, FoldDirection::kBoth);
  EXPECT_EQ(FindViolations(result.rewrite.graph), "");
  EXPECT_EQ(OutputNames(result.rewrite.graph.outputs()), m.symbol.ListOutputs());
  return result;
}

// data -> bn (eps 0) -> conv (1x1, 2 filters).
Case NormAndConv(const AttrMap& conv = {}, const AttrMap& norm = {}) {
  Case m;
  const Symbol bn = Op("BatchNorm", "bn", {Var("data")}, With({{"eps", "0"}, {"fix_gamma", "False"}}, norm));
  m.symbol = Op("Convolution", "conv", {bn.At(0)}, With(kOneByOne, conv));
  m.params.args["conv_weight"] = Array({2, 2, 1, 1}, {1, 2, 3, 4});
  if (!conv.contains("no_bias")) m.params.args["conv_bias"] = Array({2}, {10, 20});
  AddNorm(&m, "bn");
  return m;
}

void ExpectKept(const Case& m) {
  const FoldResult result = FoldBoth(m);
  EXPECT_FALSE(result.rewrite.changed);
  EXPECT_TRUE(result.arrays.empty() && result.dropped.empty() && result.names.folded.empty());
  EXPECT_EQ(result.names.kept.size(), 1u);
}

TEST(FoldIntoReader, ScalesInputChannelsAndShiftsTheBias) {
  const Case m = NormAndConv();
  const FoldResult result = FoldBoth(m);
  EXPECT_EQ(PrintGraph(result.rewrite.graph),
            "%0 data = null()\n"
            "%1 conv_weight = null()\n"
            "%2 conv_bias = null()\n"
            "%3 conv = Convolution(%0, %1, %2) kernel=(1, 1) num_filter=2\n"
            "outputs: %3\n");
  // The norm is x - 0.5 and 0.75 x - 2.5.
  EXPECT_EQ(ElementsOf(result.arrays.at("conv_weight")), (std::vector<float>{1, 1.5, 3, 3}));
  EXPECT_EQ(ElementsOf(result.arrays.at("conv_bias")), (std::vector<float>{10 - 0.5 - 5, 20 - 1.5 - 10}));
  EXPECT_EQ(result.dropped, (std::set<std::string>{"bn_beta", "bn_gamma", "bn_moving_mean", "bn_moving_var"}));
  EXPECT_EQ(result.names.folded, (std::vector<FoldedBatchNorm>{{"bn", "conv"}}));
  EXPECT_TRUE(result.names.kept.empty());
  // Conversion folds into producers alone.
  EXPECT_EQ(WhyKept(m), "its input comes from variable 'data', into which nothing can be folded");
}

TEST(FoldIntoReader, AMissingBiasBecomesAParameter) {
  const FoldResult result = FoldBoth(NormAndConv({{"no_bias", "True"}}));
  EXPECT_EQ(ElementsOf(result.arrays.at("conv_bias")), (std::vector<float>{-5.5, -11.5}));
  EXPECT_EQ(*result.rewrite.graph.outputs()[0].node->FindAttr("no_bias"), "False");
}

TEST(FoldIntoReader, ANormBetweenTwoConvolutionsGoesIntoTheFirst) {
  Case m = ConvAndNorm();
  m.symbol = Op("Convolution", "next", {m.symbol}, kOneByOne);
  m.params.args["next_weight"] = Array({2, 2, 1, 1}, {1});
  m.params.args["next_bias"] = Array({2}, {1});
  EXPECT_EQ(FoldBoth(m).names.folded, (std::vector<FoldedBatchNorm>{{"bn", "conv"}}));
  // ... into the second, where somebody else reads the first.
  m.symbol = Symbol::Group({m.symbol, Symbol({m.symbol.outputs()[0].node->inputs()[0].node->inputs()[0]})});
  EXPECT_EQ(FoldBoth(m).names.folded, (std::vector<FoldedBatchNorm>{{"bn", "next"}}));
}

TEST(FoldIntoReader, FromBothSidesAndTwiceRoundedOnce) {
  Case m = NormAndConv({}, {{"eps", "0.001"}});
  const NodePtr conv = NodeOf(m.symbol);
  const Symbol second = Op("BatchNorm", "bn1", {Symbol({conv->inputs()[0]})}, {{"fix_gamma", "False"}});
  m.symbol = Op("BatchNorm", "bn2", {Op("Convolution", "conv", {second}, kOneByOne)}, {{"fix_gamma", "False"}});
  AddNorm(&m, "bn1");
  AddNorm(&m, "bn2");
  const FoldResult result = FoldBoth(m);
  EXPECT_EQ(result.names.folded, (std::vector<FoldedBatchNorm>{{"bn", "conv"}, {"bn1", "conv"}, {"bn2", "conv"}}));
  EXPECT_EQ(OutputNames(result.rewrite.graph.outputs()), Names{"bn2_output"});
  // Channel 1 of each norm, weight [1][1].
  const double scale = 3 / std::sqrt(16.001);
  EXPECT_FLOAT_EQ(result.arrays.at("conv_weight").As<float>()[3], static_cast<float>(4 * scale * scale * scale));
}

TEST(FoldIntoReader, GroupsReadChannelsOfTheirOwn) {
  Case m = NormAndConv({{"num_filter", "4"}, {"num_group", "2"}});
  m.types["data"].shape = Shape{1, 4, 4, 4};
  m.params.args["conv_weight"] = Array({4, 2, 1, 1}, {1});
  m.params.args["conv_bias"] = Array({4}, {0});
  AddNorm(&m, "bn", 4);
  m.params.args["bn_gamma"] = Array({4}, {1, 2, 4, 8});
  m.params.aux["bn_moving_var"] = Array({4}, {1});
  EXPECT_EQ(ElementsOf(FoldBoth(m).arrays.at("conv_weight")), (std::vector<float>{1, 2, 1, 2, 4, 8, 4, 8}));
}

TEST(FoldIntoReader, ChannelsLast) {
  Case m = NormAndConv({{"layout", "NHWC"}}, {{"axis", "-1"}});
  m.types["data"].shape = Shape{1, 4, 4, 2};
  m.params.args["conv_weight"] = Array({2, 1, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(ElementsOf(FoldBoth(m).arrays.at("conv_weight")), (std::vector<float>{1, 1.5, 3, 3}));
}

// BatchNorm -> Dropout -> FullyConnected, as in ArcFace.
Case NormAndDense(const AttrMap& dense, const AttrMap& norm, const Shape& data, std::int64_t features, bool flatten) {
  Case m;
  m.types["data"].shape = data;
  Symbol x = Op("Dropout", "drop", {Op("BatchNorm", "bn", {Var("data")}, With({{"eps", "0"}}, norm))});
  if (flatten) x = Op("Flatten", "flat", {x});
  m.symbol = Op("FullyConnected", "fc", {x}, With({{"num_hidden", "1"}, {"no_bias", "True"}}, dense));
  m.params.args["fc_weight"] = Array({1, features}, {1});
  AddNorm(&m, "bn");
  m.params.aux["bn_moving_var"] = Array({2}, {1, 0.25});
  return m;
}

TEST(FoldIntoReader, DenseLayersReadEachChannelInManyPlaces) {
  const auto weights = [](const Case& m) { return ElementsOf(FoldBoth(m).arrays.at("fc_weight")); };
  const std::vector<float> planes{1, 1, 1, 2, 2, 2}, turns{1, 2, 1, 2, 1, 2};
  for (const bool flatten : {false, true}) {
    EXPECT_EQ(weights(NormAndDense({}, {}, {5, 2, 3, 1}, 6, flatten)), planes);
    EXPECT_EQ(weights(NormAndDense({}, {{"axis", "-1"}}, {5, 3, 2}, 6, flatten)), turns);
    EXPECT_EQ(weights(NormAndDense({}, {}, {5, 2}, 2, flatten)), (std::vector<float>{1, 2}));
  }
  EXPECT_EQ(weights(NormAndDense({{"flatten", "False"}}, {{"axis", "2"}}, {5, 3, 2}, 2, false)),
            (std::vector<float>{1, 2}));
  // The places of a channel in the middle depend on the sizes beside it.
  ExpectKept(NormAndDense({}, {{"axis", "2"}}, {5, 3, 2, 1}, 6, false));
  ExpectKept(NormAndDense({{"flatten", "False"}}, {{"axis", "1"}}, {5, 2, 3}, 3, false));
}

TEST(FoldIntoReader, Refuses) {
  ExpectKept(NormAndConv({{"pad", "(1, 1)"}}));
  ExpectKept(NormAndConv({{"pad", "(0, 1)"}}));
  ExpectKept(NormAndConv({}, {{"output_mean_var", "True"}}));
  Case m = NormAndConv();
  const Symbol conv = m.symbol, norm({NodeOf(conv)->inputs()[0]});
  const auto kept = [&](const Symbol& symbol) {
    Case changed = m;
    changed.symbol = symbol;
    ExpectKept(changed);
  };
  kept(Symbol::Group({conv, norm}));                                                   // an output of the graph
  kept(Symbol::Group({conv, Op("relu", "r", {norm})}));                                // another reader
  kept(Symbol::Group({conv, Symbol({{NodeOf(norm), 1}})}));                            // its mean, too
  kept(Op("Convolution", "conv", {Op("relu", "r", {norm})}, kOneByOne));               // not its reader
  kept(Op("Deconvolution", "conv", {norm}, With(kOneByOne, {{"no_bias", "False"}})));  // borders
  const NodePtr node = NodeOf(conv);
  kept(Symbol::Group({conv, Symbol({node->inputs()[1]})}));                     // the weight is an output of the graph
  kept(Symbol::Group({conv, Op("relu", "r", {Symbol({node->inputs()[2]})})}));  // the bias is shared
  m.keeps = [](const Node& n) { return n.name() == "conv"; };
  ExpectKept(m);
  m.keeps = [](const Node& n) { return n.name() == "bn"; };
  ExpectKept(m);
  m.keeps = nullptr;
  m.params.args["conv_weight"] = Array({2, 2, 1, 1}, {3e38f});
  m.params.aux["bn_moving_var"] = Array({2}, {1e-4f});
  ExpectKept(m);  // not finite
}

TEST(FoldIntoReader, RefusesOtherAxesAndDTypes) {
  Case m = NormAndConv({}, {{"axis", "2"}});
  m.types["data"].shape = Shape{1, 2, 2, 4};
  ExpectKept(m);
  m = NormAndConv();
  m.params.args["conv_weight"] = NDArray::Zeros(DType::kBFloat16, {2, 2, 1, 1});
  m.params.args["conv_bias"] = NDArray::Zeros(DType::kBFloat16, {2});
  m.types["data"].dtype = DType::kBFloat16;
  ExpectKept(m);
  m = NormAndConv();
  m.params.args.erase("conv_weight");
  m.types["conv_weight"] = {DType::kFloat32, {2, 2, 1, 1}};
  ExpectKept(m);
}

TEST(FoldIntoReader, ControlDependenciesHoldNodes) {
  Case m = NormAndConv();
  const NodePtr conv = NodeOf(m.symbol);
  const NodePtr free = NodeOf(Op("relu", "free", {Symbol({conv->inputs()[0].node->inputs()[0]})}));
  m.symbol = Symbol({{conv->WithInputs(conv->inputs(), {free}), 0}});
  ExpectKept(m);
}

ModelParams Applied(ModelParams params, const FoldResult& result) {
  for (const std::string& name : result.dropped) params.args.erase(name), params.aux.erase(name);
  for (const auto& [name, array] : result.arrays) params.args[name] = array;
  return params;
}

TEST(FoldBatchNorm, RandomModelsStayLegalAndAreDoneAfterOneRun) {
  std::size_t folded = 0, kept = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const RandomModel random = RandomModelMaker(seed).Make(12);
    Case m{random.symbol, random.params, random.input_types};
    const FoldResult once = m.Fold();
    folded += once.names.folded.size();
    kept += once.names.kept.size();
    EXPECT_EQ(FindViolations(once.rewrite.graph), "");
    EXPECT_EQ(OutputNames(once.rewrite.graph.outputs()), m.symbol.ListOutputs());
    EXPECT_EQ(once.rewrite.changed, !once.names.folded.empty());
    EXPECT_EQ(PrintGraph(m.Fold().rewrite.graph), PrintGraph(once.rewrite.graph));
    m.params = Applied(m.params, once);
    m.symbol = Symbol(once.rewrite.graph.outputs());
    const FoldResult again = m.Fold();
    EXPECT_FALSE(again.rewrite.changed);
    EXPECT_EQ(again.names.kept, once.names.kept);
  }
  EXPECT_GT(folded, 20u);
  EXPECT_GT(kept, 20u);
}

}  // namespace
}  // namespace amp::testing
