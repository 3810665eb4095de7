#include "program/revert_unprofitable_casts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "nnvm/compose.h"
#include "nnvm/temporary_folder.h"
#include "passes/model.h"
#include "passes/precision/predicted_time.h"
#include "program/convert_model.h"
#include "program/machine_table.h"
#include "program/machine_text.h"

namespace amp::testing {
namespace {

Symbol DenseWithBias(const Symbol& x, const std::string& name) {
  return Op("FullyConnected", name, {x, Var(name + "_w"), Var(name + "_b")}, {{"num_hidden", "64"}});
}

Symbol Network() {
  return Op("softmax", "sm", {DenseWithBias(Op("relu", "relu", {DenseWithBias(Var("x"), "one")}), "two")});
}

NDArray Decreasing(Shape shape) {
  NDArray array = NDArray::Zeros(DType::kFloat32, std::move(shape));
  for (std::int64_t i = 0; i < array.size(); ++i) array.As<float>()[i] = 1.0f / static_cast<float>(i + 3);
  return array;
}

const TypeMap kInputTypes{{"x", {DType::kFloat32, {32, 64}}}};

ConvertedModel Converted(PrecisionPolicy policy = PrecisionPolicy::kMXNet, const Symbol& symbol = Network(),
                         std::map<std::string, DType> output_dtypes = {}) {
  ModelParams params;
  for (const std::string name : {"one", "two"}) {
    params.args[name + "_w"] = Decreasing({64, 64});
    params.args[name + "_b"] = Decreasing({64});
  }
  ConvertOptions options;
  options.policy = policy;
  options.cast_params_offline = true;
  options.output_dtypes = std::move(output_dtypes);
  return ConvertModel(symbol, params, kInputTypes, options);
}

RevertedModel Fit(const ConvertedModel& model, bool has_bf16, const std::set<std::string>& kept = {},
                  const TypeMap& inputs = kInputTypes) {
  return RevertUnprofitableCasts(model.symbol, model.params, inputs, SmallMachine(has_bf16), kept);
}

TEST(RevertUnprofitableCasts, TakesAllCastsBackWithoutArithmetic) {
  const ConvertedModel low = Converted();
  EXPECT_CONTAINS(Text(low.symbol), "amp_cast");
  const RevertedModel fitted = Fit(low, false);
  EXPECT_GT(fitted.low_before, 0u);
  EXPECT_EQ(fitted.low_after, 0u);
  EXPECT_FALSE(IsConverted(fitted.symbol));
  EXPECT_EQ(Text(fitted.symbol).find("= amp_cast"), std::string::npos) << Text(fitted.symbol);
  // the values stay rounded: no result changes but by less rounding
  const NDArray& weight = fitted.params.args.at("one_w");
  EXPECT_EQ(weight.dtype(), DType::kFloat32);
  EXPECT_EQ(weight.As<float>()[0], 0.333984375f);
  EXPECT_EQ(OutputNames(fitted.symbol.outputs()), OutputNames(low.symbol.outputs()));
}

// Where the library computes between casts, predictions err more.
TEST(RevertUnprofitableCasts, SmallGainsMayBeLosses) {
  constexpr Picoseconds kSecond = 1'000'000'000'000;
  const auto pays = [&](Picoseconds gain, bool has_bf16) {
    Prediction predicted;
    predicted.unchanged = kSecond;
    predicted.as_decided = kSecond - gain;
    return PaysOff(predicted, *SmallMachine(has_bf16));
  };
  EXPECT_TRUE(!pays(kSecond / 25, true) && pays(kSecond / 15, true));
  EXPECT_TRUE(!pays(kSecond / 15, false) && pays(kSecond / 8, false));
}

TEST(RevertUnprofitableCasts, LeavesWhatPays) {
  const ConvertedModel low = Converted();
  const RevertedModel fitted = Fit(low, true);
  EXPECT_EQ(fitted.low_before, 3u);
  EXPECT_EQ(fitted.low_after, 2u);  // softmax gains nothing
  for (const std::string name : {"one", "two"}) {
    EXPECT_CONTAINS(Text(fitted.symbol), name + "_w = null() __amp_dtype__=bfloat16");
  }
}

// Whatever comes out of it: everything low pays, nothing does.
TEST(RevertUnprofitableCasts, ConvertsOnce) {
  for (const bool has_bf16 : {false, true}) {
    const ConvertedModel low = Converted();
    const TemporaryFolder folder;
    setenv("AMP_DUMP", folder.path().c_str(), 1);
    Fit(low, has_bf16);
    unsetenv("AMP_DUMP");
    const std::set<std::string> files = folder.Names();
    const auto is_decision = [](const std::string& name) { return name.find("_decision.txt") == name.find('_'); };
    EXPECT_EQ(std::count_if(files.begin(), files.end(), is_decision), 1);
  }
}

TEST(RevertUnprofitableCasts, KeepsNodesThatTheCallerForces) {
  const RevertedModel fitted = Fit(Converted(), false, {"two"});
  EXPECT_EQ(fitted.low_after, 1u);
  EXPECT_CONTAINS(Text(fitted.symbol), "two_w = null() __amp_dtype__=bfloat16");
  EXPECT_EQ(fitted.params.args.at("one_w").dtype(), DType::kFloat32);
}

TEST(RevertUnprofitableCasts, KeepsDTypesAndNamesOfOutputs) {
  const ConvertedModel low = Converted(PrecisionPolicy::kDefault, Network(), {{"sm_output", DType::kBFloat16}});
  const RevertedModel fitted = Fit(low, false);
  const Graph graph = fitted.symbol.ToGraph();
  const Types types = InferPartial(graph, VariableTypes(graph, fitted.params, kInputTypes));
  EXPECT_EQ(types[graph.EntryOf(graph.outputs()[0])].dtype, DType::kBFloat16);
  EXPECT_EQ(OutputNames(fitted.symbol.outputs()), std::vector<std::string>{"sm_output"});
}

TEST(RevertUnprofitableCasts, LeavesAloneWhatItCannotJudge) {
  const ConvertedModel low = Converted();
  EXPECT_EQ(Text(Fit(low, false, {}, {}).symbol), Text(low.symbol));  // no shape of x
  const RevertedModel any = RevertUnprofitableCasts(low.symbol, low.params, kInputTypes, nullptr, {});
  EXPECT_EQ(Text(any.symbol), Text(low.symbol));
  const ConvertedModel plain{Network(), low.params, 0, {}, {}};
  EXPECT_FALSE(IsConverted(plain.symbol));
}

TEST(RevertUnprofitableCasts, KeepsCastsOfTheModelsOwn) {
  const Symbol own = Op("Cast", "own", {Var("x")}, {{"dtype", "bfloat16"}});
  const Symbol back = Op("Cast", "back", {Op("exp", "e", {own})}, {{"dtype", "float32"}});
  const ConvertedModel low = Converted(PrecisionPolicy::kMXNet, DenseWithBias(back, "one"));
  const RevertedModel fitted = Fit(low, false);
  const std::string text = Text(fitted.symbol);
  EXPECT_CONTAINS(text, "own = Cast(%0) dtype=bfloat16");
  EXPECT_EQ(text.find("amp_cast_bfloat16"), std::string::npos) << text;
}

}  // namespace
}  // namespace amp::testing
