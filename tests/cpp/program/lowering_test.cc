#include "program/lowering.h"

#include <gtest/gtest.h>

#include "dnnl/models.h"
#include "passes/model.h"

namespace amp::onednn {
namespace {

using namespace testing;

Model Typed(const TestModel& model) {
  const Graph graph = model.symbol.ToGraph();
  return Model(graph, VariableTypes(graph, model.params, model.types), ParameterNames(model.params));
}

// "work work ...", in order.
std::string Works(const TestModel& model, const LowerOptions& options = {}) {
  std::string text;
  for (const Step& step : Lower(Typed(model), options).program.steps) {
    text += (text.empty() ? "" : " ") + std::string(KindOf(step.spec).name);
  }
  return text;
}

TEST(Lower, EachOperatorGivesItsSteps) {
  EXPECT_EQ(Works(SmallNet()), "convolution call scale_shift eltwise pooling reshape inner_product softmax");
}

TEST(Lower, ReferenceModeCallsEveryNode) {
  LowerOptions options;
  options.reference = true;
  EXPECT_EQ(Works(SmallNet(), options), "call call call call call call call");
}

TEST(Lower, AnUnsupportedNodeIsCalledAndSaysWhy) {
  const TestModel model = ReluChain(2, {4});
  LowerOptions options;
  options.unsupported = {{2, "because"}};
  const Program program = Lower(Typed(model), options).program;
  EXPECT_STREQ(KindOf(program.steps[0].spec).name, "eltwise");
  EXPECT_STREQ(KindOf(program.steps[1].spec).name, "call");
  EXPECT_EQ(program.steps[1].reason, "because");
}

TEST(Lower, LowPrecisionWithoutHardwareIsArithmeticBetweenCasts) {
  TestModel model = ReluChain(1, {4});
  model.types["x"].dtype = DType::kBFloat16;
  EXPECT_EQ(Works(model), "eltwise");
  LowerOptions emulate;
  emulate.native_bf16 = false;
  EXPECT_EQ(Works(model, emulate), "cast eltwise cast");
  model.types["x"].dtype = DType::kFloat16;  // never native
  EXPECT_EQ(Works(model), "cast eltwise cast");
  model.types["x"].dtype = DType::kFloat64;
  EXPECT_EQ(Works(model), "call");
}

// Arrays of 64 GiB: what would look at elements, or hold a table of them, ends here.
TEST(Lower, GradientsOfPartsAreBordersWhateverTheirSize) {
  const Shape data{64, 256, 1024, 1024};
  const auto work = [&](const char* op, const std::string& attributes, const Shape& gradient) {
    TestModel model;
    model.types["gradient"] = {DType::kFloat32, gradient};
    model.types["data"] = {DType::kFloat32, data};
    model.symbol =
        Op("_backward_move", "back", {Var("gradient"), Var("data")}, {{"operator", op}, {"attributes", attributes}});
    return Works(model);
  };
  EXPECT_EQ(work("slice", "begin=(1, 2)\nend=(None, -3)\n", {63, 251, 1024, 1024}), "pad");
  EXPECT_EQ(work("slice_axis", "axis=-1\nbegin=5\nend=1000\n", {64, 256, 1024, 995}), "pad");
  EXPECT_EQ(work("Crop", "num_args=1\noffset=(3, 4)\nh_w=(512, 256)\n", {64, 256, 512, 256}), "pad");
  EXPECT_EQ(work("Pad", "mode=constant\npad_width=(0, 0, 0, 0, 1, 2, 3, 4)\n", {64, 256, 1027, 1031}), "slice");
}

TEST(Lower, WhatAccumulatesMayWriteAnotherDType) {
  TestModel model;
  model.types["x"] = {DType::kBFloat16, {4, 8}};
  const auto works = [&](const char* out_dtype, bool native_bf16 = true) {
    model.symbol = Op("FullyConnected", "fc", {Var("x")}, {{"num_hidden", "2"}, {kOutDTypeAttr, out_dtype}});
    model.params.args["fc_weight"] = Random({model.types["x"].dtype, {2, 8}}, 1);
    model.params.args["fc_bias"] = Random({model.types["x"].dtype, {2}}, 2);
    LowerOptions options;
    options.native_bf16 = native_bf16;
    return Works(model, options);
  };
  EXPECT_EQ(works("float32"), "cast inner_product");  // the bias is cast
  EXPECT_EQ(works("float32", false), "cast cast cast inner_product");
  EXPECT_EQ(works("bfloat16", false), "cast cast cast inner_product cast");
  EXPECT_EQ(works("float16"), "cast inner_product cast");
  EXPECT_EQ(works("float64"), "call");
  model.types["x"].dtype = DType::kFloat32;  // no primitive reads float32 and writes bfloat16
  EXPECT_EQ(works("bfloat16"), "inner_product cast");
  model.types["x"].dtype = DType::kFloat16;
  EXPECT_EQ(works("float32"), "cast cast cast inner_product");
  EXPECT_EQ(works("bfloat16"), "cast cast cast inner_product cast");
  model.types["x"].dtype = DType::kFloat64;
  EXPECT_EQ(works("float32"), "call");
}

// Own kernels read biases in float32. Parameters are widened once, when a model is bound.
TEST(Lower, BiasesThatAreParametersAreWidened) {
  TestModel model;
  model.types["x"] = {DType::kBFloat16, {4, 8}};
  model.symbol = Op("FullyConnected", "fc", {Var("x")}, {{"num_hidden", "2"}});
  model.params.args["fc_weight"] = Random({DType::kBFloat16, {2, 8}}, 1);
  model.params.args["fc_bias"] = Random({DType::kBFloat16, {2}}, 2);
  EXPECT_EQ(Works(model), "cast inner_product");
  const Program program = Lower(Typed(model), {}).program;
  EXPECT_EQ(program.values[program.steps[0].inputs[0]].name, "$fc_bias");
  EXPECT_EQ(program.values[program.steps[1].inputs[2]].type.dtype, DType::kFloat32);

  const Symbol bias = Op("amp_cast", "low", {Var("fc_bias")}, {{"dtype", "bfloat16"}});
  model.symbol = Op("FullyConnected", "fc", {Var("x"), Var("fc_weight"), bias}, {{"num_hidden", "2"}});
  model.params.args["fc_bias"] = Random({DType::kFloat32, {2}}, 2);
  EXPECT_EQ(Works(model), "cast cast inner_product");
  model.types["fc_bias"] = {DType::kFloat32, {2}};
  model.params.args.erase("fc_bias");
  EXPECT_EQ(Works(model), "cast inner_product");
}

TEST(Lower, ViewsCostNoWork) {
  TestModel model = ReluChain(1, {2, 3, 4});
  model.symbol = Op("Dropout", "drop", {Op("Flatten", "flat", {model.symbol})});
  EXPECT_EQ(Works(model), "eltwise reshape");
}

TEST(Lower, ValueNamesAreUniqueAndTheSameEveryTime) {
  const TestModel model = SmallNet();
  const auto names = [&] {
    std::vector<std::string> result;
    for (const Value& value : Lower(Typed(model), {}).program.values) result.push_back(value.name);
    return result;
  };
  const std::vector<std::string> once = names();
  EXPECT_EQ(names(), once);
  EXPECT_EQ(std::set<std::string>(once.begin(), once.end()).size(), once.size());
}

TEST(Lower, LabelsAreNeitherInputsNorConstants) {
  const TestModel model = SmallNet();
  EXPECT_EQ(Lower(Typed(model), {}).input_names, std::vector<std::string>{"data"});
}

TEST(NeededNodes, NotThoseBehindLabels) {
  const Symbol label = Op("_plus_scalar", "shift", {Var("label")}, {{"scalar", "1"}});
  const Graph graph = Op("SoftmaxOutput", "s", {Var("x"), label}).ToGraph();
  EXPECT_EQ(NeededNodes(graph), (std::vector<bool>{true, false, false, true}));
  const Graph both = Symbol::Group({Op("SoftmaxOutput", "s", {Var("x"), label}), label}).ToGraph();
  EXPECT_EQ(NeededNodes(both), (std::vector<bool>{true, true, true, true}));
}

}  // namespace
}  // namespace amp::onednn
