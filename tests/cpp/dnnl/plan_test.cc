// What a plan consists of: layouts and reorders, outputs, constants, memory.
#include "dnnl/plan.h"

#include <gtest/gtest.h>

#include <set>

#include "dnnl/models.h"
#include "dnnl/prepared_primitive.h"
#include "nnvm/temporary_folder.h"

namespace amp::onednn {
namespace {

using namespace testing;

TEST(Plan, RowMajorNetworksNeedNoReorders) {
  TestModel m;
  m.symbol =
      Op("Activation", "relu", {Op("FullyConnected", "fc", {Var("x")}, {{"num_hidden", "8"}, {"no_bias", "True"}})},
         {{"act_type", "tanh"}});
  m.params.args["fc_weight"] = Random({8, 4}, 1);
  m.types["x"] = F32({2, 4});
  const PlanSummary summary = Bind(m)->summary();
  EXPECT_EQ(summary.num_reorders, 0) << summary.Print();
  EXPECT_EQ(summary.steps.size(), 1u) << summary.Print();  // the activation is a post-op
  EXPECT_EQ(summary.num_references, 0);
}

// data into the convolution's layout, and back to row-major where Flatten reads it; everything between takes what it
// gets.
TEST(Plan, ASmallNetReordersAtItsEndsOnly) {
  const PlanSummary summary = Bind(SmallNet())->summary();
  EXPECT_LE(summary.num_reorders, 2) << summary.Print();
  EXPECT_EQ(summary.num_reorders, CountKind(summary, "reorder"));
  for (const PlanStep& step : summary.steps) EXPECT_EQ(step.kind == "reorder", !step.reason.empty()) << summary.Print();
  EXPECT_EQ(CountKind(summary, "convolution"), 1);
  EXPECT_EQ(summary.num_references, 0);
}

TEST(Plan, TheSummaryPrints) {
  const std::string text = Bind(SmallNet())->summary().Print();
  EXPECT_CONTAINS(text, "nodes on reference kernels\n   0 ");
  EXPECT_CONTAINS(text, "convolution");
  EXPECT_CONTAINS(text, "softmax");
}

std::set<std::string> StagesOf(const std::set<std::string>& files) {
  std::set<std::string> stages;
  for (const std::string& file : files) stages.insert(file.substr(file.find('_') + 1));  // behind the number
  return stages;
}

TEST(Plan, EachStageThatChangesTheProgramIsDumped) {
  const amp::testing::TemporaryFolder folder;
  setenv("AMP_DUMP", folder.path().c_str(), 1);
  Bind(SmallNet());
  unsetenv("AMP_DUMP");
  const std::set<std::string> stages = StagesOf(folder.Names());
  for (const char* stage : {"lower.txt", "fuse_post_ops.txt", "fold_constants.txt", "plan.txt"}) {
    EXPECT_TRUE(stages.contains(stage)) << stage;
  }
}

TEST(Plan, TheTimeOfEachStageIsPrinted) {
  setenv("AMP_VERBOSE", "1", 1);
  ::testing::internal::CaptureStderr();
  Bind(SmallNet());
  unsetenv("AMP_VERBOSE");
  const std::string text = ::testing::internal::GetCapturedStderr();
  for (const char* stage : {"pass: Lower ", "pass: FusePostOps ", "pass: BuildSteps ", "pass: PlanMemory "}) {
    EXPECT_CONTAINS(text, stage);
  }
}

TEST(Plan, TheReferenceBackendRunsReferencesOnly) {
  const PlanSummary summary = Bind(SmallNet(), On(Backend::kReference))->summary();
  EXPECT_EQ(summary.num_references, 7);
  EXPECT_EQ(summary.num_reorders, 0);
  for (const PlanStep& step : summary.steps) EXPECT_EQ(step.implementation, "reference");
}

TEST(Plan, WhatTheLibraryLacksFallsBackWithAReason) {
  TestModel m;  // oneDNN's code for layer normalisation grows with the row
  m.symbol = Op("LayerNorm", "norm", {Var("x")});
  m.params.args["norm_gamma"] = m.params.args["norm_beta"] = Random({(1 << 20) + 1}, 1);
  m.types["x"] = F32({1, (1 << 20) + 1});
  auto executor = Bind(m);
  EXPECT_EQ(executor->summary().num_references, 1) << executor->summary().Print();
  EXPECT_CONTAINS(executor->summary().Print(), "oneDNN has no layer_norm for these types");
  EXPECT_LT(Distance(RunOnce(m, On(Backend::kReference))[0], RunOnce(*executor)[0]), kFloatTolerance);
}

TEST(Plan, WhatTheOperatorCannotLowerFallsBackWithAReason) {
  TestModel m = ReluChain(0, {4});
  m.symbol = Op("Activation", "softsign", {m.symbol}, {{"act_type", "softsign"}});
  const PlanSummary summary = Bind(m)->summary();
  EXPECT_EQ(summary.num_references, 1);
  EXPECT_FALSE(summary.steps.at(0).reason.empty());
}

TEST(Plan, ReferenceCodeOfTheLibraryCountsAsWhatItIs) {
  PreparedPrimitive prepared;
  prepared.implementation = "ref:any";
  EXPECT_TRUE(prepared.is_reference());
  prepared.implementation = "jit:avx2";
  EXPECT_FALSE(prepared.is_reference());
}

// oneDNN 3.2 has no fast code for PReLU with one slope, which is repeated only where it is a parameter.
TEST(Plan, AMapReplacesReferenceCodeOfTheLibrary) {
  TestModel m;
  m.symbol = Op("LeakyReLU", "act", {Var("x"), Var("slope")}, {{"act_type", "prelu"}});
  m.types["x"] = F32({2, 5, 7, 3});
  m.types["slope"] = F32({1});
  const auto executor = Bind(m);
  const PlanSummary summary = executor->summary();
  ASSERT_EQ(summary.steps.size(), 1u) << summary.Print();
  EXPECT_EQ(summary.steps[0].kind, "map");
  EXPECT_EQ(summary.num_references, 0);
  EXPECT_EQ(summary.steps[0].reason, "");
  EXPECT_LT(Distance(RunOnce(m, On(Backend::kReference))[0], RunOnce(*executor)[0]), kFloatTolerance);
}

// Boxes and scores of detectors are joined number by number.
TEST(Plan, ShortLinesAreJoinedByOurKernel) {
  for (const std::int64_t size : {4, 300}) {
    TestModel m;
    m.symbol = Op("Concat", "joined", {Var("x"), Var("y")}, {{"dim", "-1"}, {"num_args", "2"}});
    m.types["x"] = F32({50, 3, size});
    m.types["y"] = F32({50, 3, 1});
    const auto executor = Bind(m);
    const PlanSummary summary = executor->summary();
    ASSERT_EQ(summary.steps.size(), 1u) << summary.Print();
    EXPECT_EQ(summary.steps[0].kind, size == 4 ? "move" : "concat");
    EXPECT_EQ(summary.steps[0].reason, "");
    EXPECT_EQ(Distance(RunOnce(m, On(Backend::kReference))[0], RunOnce(*executor)[0]), 0);
  }
}

// What joins and is no concatenation stays the library's, however short its lines are.
TEST(Plan, SmallImagesAreGrownAndJoinedByNoReference) {
  TestModel m;
  m.symbol =
      Op("UpSampling", "grown", {Var("x"), Var("y")}, {{"scale", "2"}, {"sample_type", "nearest"}, {"num_args", "2"}});
  m.types["x"] = F32({1, 3, 1, 1});
  m.types["y"] = F32({1, 2, 1, 1});
  EXPECT_EQ(Bind(m)->summary().num_references, 0);
}

TEST(Plan, WorkOnParametersIsNotMergedIntoWhatRunsEachTime) {
  TestModel m;
  m.symbol = Op("elemwise_add", "sum", {Var("x"), Op("exp", "once", {Var("p")})});
  m.types["x"] = F32({4, 4});
  m.params.args["p"] = NDArray::Zeros(DType::kFloat32, {4, 4});
  const PlanSummary summary = Bind(m)->summary();
  ASSERT_EQ(summary.steps.size(), 1u) << summary.Print();
  EXPECT_EQ(summary.steps[0].kind, "binary") << summary.Print();
}

TEST(Plan, MoreAxesThanTheLibraryKnowsAreRefusedClearly) {
  TestModel m = ReluChain(1, Shape(std::vector<std::int64_t>(13, 1)));
  EXPECT_CONTAINS(ErrorOf<UnsupportedError>([&] { Bind(m); }), "rank above 12");
}

// --- outputs ---

// Runs on both backends, checks that the outputs agree, lie apart, and survive each other being overwritten.
std::vector<NDArray> CheckOutputs(const TestModel& m) {
  const std::vector<NDArray> expected = RunOnce(m, On(Backend::kReference));
  auto executor = Bind(m);
  std::vector<NDArray> actual = RunOnce(*executor);
  EXPECT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_LT(Distance(expected[i], actual[i]), kFloatTolerance) << i << "\n" << executor->summary().Print();
  }
  const std::vector<NDArray> inputs = InputsFor(*executor);
  for (NDArray& output : actual) std::memset(output.data(), 0xff, static_cast<std::size_t>(output.bytes()));
  executor->Run(inputs, actual);  // every byte is written anew
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_LT(Distance(expected[i], actual[i]), kFloatTolerance) << i;
  return actual;
}

TEST(Outputs, AnInputAndAParameter) {
  TestModel m;
  m.symbol = Symbol::Group({Var("x"), Var("w")});
  m.types["x"] = F32({2, 3});
  m.params.args["w"] = Random({4}, 1);
  const std::vector<NDArray> outputs = CheckOutputs(m);
  EXPECT_EQ(At(outputs[1], 2), At(m.params.args["w"], 2));
  EXPECT_NE(outputs[1].data(), m.params.args["w"].data());
}

TEST(Outputs, TheSameEntryTwiceAndAViewOfIt) {
  TestModel m = ReluChain(1, {2, 3, 4});
  m.symbol = Symbol::Group({m.symbol, Op("Flatten", "flat", {m.symbol}), m.symbol});
  const std::vector<NDArray> outputs = CheckOutputs(m);
  EXPECT_NE(outputs[0].data(), outputs[1].data());
  EXPECT_NE(outputs[0].data(), outputs[2].data());
}

TEST(Outputs, AliasesThroughDropout) {
  TestModel m = ReluChain(1, {2, 3});
  const Symbol drop = Op("Dropout", "drop", {m.symbol});
  m.symbol = Symbol::Group({drop, m.symbol, Op("Dropout", "drop2", {Var("x2")}), Op("Dropout", "drop3", {drop})});
  m.types["x2"] = F32({5});
  CheckOutputs(m);
}

TEST(Outputs, OneThatLaterStepsRead) {
  TestModel m = ReluChain(1, {2, 3});
  const Symbol twice = Op("_mul_scalar", "m", {m.symbol}, {{"scalar", "-2"}});
  m.symbol = Symbol::Group({m.symbol, Op("Activation", "r2", {twice}, {{"act_type", "relu"}}), twice});
  CheckOutputs(m);
}

TEST(Outputs, OfABlockedLayout) {
  TestModel m;
  const Symbol conv =
      Op("Convolution", "conv", {Var("data")}, {{"kernel", "(3, 3)"}, {"num_filter", "19"}, {"no_bias", "True"}});
  m.symbol = Symbol::Group({conv, Op("Flatten", "flat", {conv}), conv});
  m.params.args["conv_weight"] = Random({19, 5, 3, 3}, 1);
  m.types["data"] = F32({2, 5, 9, 8});
  CheckOutputs(m);
}

TEST(Outputs, ComputedFromConstants) {
  TestModel m;
  m.symbol = Symbol::Group({Op("Activation", "relu", {Var("w")}, {{"act_type", "relu"}}), Var("x")});
  m.params.args["w"] = Random({2, 3}, 1);
  m.types["x"] = F32({1});
  CheckOutputs(m);
}

TEST(Outputs, OneOfSeveralOutputsOfAConstantStep) {
  TestModel m;
  const Symbol bn = Op("BatchNorm", "bn", {Var("w")}, {{"output_mean_var", "True"}, {"fix_gamma", "False"}});
  m.symbol = Symbol::Group({Op("Activation", "relu", {bn.At(0)}, {{"act_type", "relu"}}), bn.At(1), bn.At(2)});
  m.params.args["w"] = Random({2, 3}, 1);
  m.params.args["bn_gamma"] = Random({3}, 2);
  m.params.args["bn_beta"] = Random({3}, 3);
  m.params.aux["bn_moving_mean"] = Random({3}, 4);
  m.params.aux["bn_moving_var"] = NDArray::Zeros(DType::kFloat32, {3});
  CheckOutputs(m);
}

TEST(Outputs, IntegersOfAllWidths) {
  for (const DType dtype : {DType::kInt8, DType::kUInt8, DType::kInt32, DType::kInt64, DType::kBool, DType::kFloat64}) {
    TestModel m;
    const Symbol i = Var("i"), j = Var("j");
    m.symbol = Symbol::Group({Op("Flatten", "flat", {i}), j, Op("elemwise_add", "sum", {j, j})});
    m.types["i"] = {dtype, Shape{2, 3, 2}};
    m.types["j"] = {dtype, Shape{3}};
    const std::vector<NDArray> expected = RunOnce(m, On(Backend::kReference)), actual = RunOnce(m);
    for (std::size_t h = 0; h < expected.size(); ++h) ExpectSameBits(expected[h], actual[h]);
  }
}

// --- memory ---

TEST(Memory, AChainInPlaceUsesOneBuffer) {
  const std::size_t bytes = 16 * 16 * 4;
  BindOptions exact = On(Backend::kOneDnn);
  exact.mode = NumericMode::kExact;  // mode `fast` makes one step of it
  const PlanSummary summary = Bind(ReluChain(10, {16, 16}), exact)->summary();
  EXPECT_EQ(summary.arena_bytes, bytes) << summary.Print();  // the last one writes to the caller's array
  EXPECT_EQ(Bind(ReluChain(1, {16, 16}))->summary().arena_bytes, 0u);
}

TEST(Memory, InPlaceWorkLeavesWhatOthersReadAlone) {
  TestModel m = ReluChain(1, {64});
  const Symbol a = Op("_plus_scalar", "a", {m.symbol}, {{"scalar", "1"}});
  const Symbol b = Op("_mul_scalar", "b", {a}, {{"scalar", "3"}});
  m.symbol = Op("elemwise_add", "s", {Op("elemwise_add", "t", {b, a}), Op("elemwise_add", "u", {a, a})});
  CheckOutputs(m);
}

TEST(Memory, TheArenaIsSmallerThanTheSum) {
  TestModel m;
  m.symbol = Var("x");
  for (int i = 0; i < 10; ++i) m.symbol = Op("softmax", "s" + std::to_string(i), {m.symbol});  // not in place
  m.types["x"] = F32({32, 32});
  const PlanSummary summary = Bind(m)->summary();
  EXPECT_LE(summary.arena_bytes, 2u * 32 * 32 * 4 + 8192) << summary.Print();
  CheckOutputs(m);
}

TEST(Memory, AnInputIsNeverWritten) {
  auto executor = Bind(ReluChain(3, {64}));
  const std::vector<NDArray> inputs = InputsFor(*executor), before = InputsFor(*executor);
  executor->Run(inputs);
  ExpectSameBits(inputs[0], before[0]);
}

// --- constants ---

// The memory of a parameter, watched.
std::weak_ptr<const void> Watch(const TestModel& m, const std::string& name) { return m.params.args.at(name).owner(); }

TEST(Constants, TheOriginalsOfPackedWeightsAreReleased) {
  TestModel m = SmallNet();
  const auto options = Low();
  const auto conv = Watch(m, "conv_weight"), fc = Watch(m, "fc_weight");
  const auto executor = std::make_unique<Executor>(m.symbol, m.params, m.types, options);
  m.params = {};
  EXPECT_TRUE(conv.expired());  // bfloat16 copies took their place
  EXPECT_TRUE(fc.expired());
  EXPECT_EQ(executor->output_types()[0].dtype, DType::kFloat32);
}

// The plan holds the packed form alone, without a conversion, too.
TEST(Constants, TheOriginalsOfReorderedWeightsAreReleased) {
  TestModel m = SmallNet();
  const auto conv = Watch(m, "conv_weight");
  const auto executor = std::make_unique<Executor>(m.symbol, m.params, m.types, On(Backend::kOneDnn));
  m.params = {};
  EXPECT_TRUE(conv.expired()) << executor->summary().Print();
}

TEST(Constants, TheCallersArraysAreNotTouched) {
  const TestModel m = SmallNet();
  const TestModel untouched = SmallNet();
  RunOnce(m, Low());
  for (const auto& [name, array] : m.params.args) ExpectSameBits(array, untouched.params.args.at(name));
}

TEST(Constants, WeightsArePackedOnceForAllShapes) {
  for (const std::int64_t groups : {1, 3}) {
    for (const auto& options : {On(Backend::kOneDnn), On(Backend::kReference), Low(), Low(DType::kFloat16)}) {
      TestModel m = SmallNet(groups);
      const auto executor = Bind(m, options);
      const std::size_t bytes = executor->summary().constant_bytes;
      const std::vector<NDArray> before = RunOnce(*executor);
      const auto other = executor->Reshape({{"data", {5, 3, 12, 12}}});
      EXPECT_EQ(other->summary().constant_bytes, bytes);
      EXPECT_EQ(other->output_types()[0].ToString(), "float32[5,10]");
      TestModel five = m;
      five.types["data"] = F32({5, 3, 12, 12});
      ExpectSameBits(RunOnce(*other)[0], RunOnce(five, options)[0]);
      const auto back = other->Reshape({{"data", {2, 3, 12, 12}}});
      ExpectSameBits(RunOnce(*back)[0], before[0]);
      ExpectSameBits(RunOnce(*executor)[0], before[0]);  // the original still runs
    }
  }
}

TEST(Constants, ChannelsLastWeightsSurviveAReshape) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    TestModel m;
    m.symbol = Op("Convolution", "conv", {Var("data")},
                  {{"kernel", "(3, 3)"}, {"num_filter", "8"}, {"layout", "NHWC"}, {"no_bias", "True"}});
    m.params.args["conv_weight"] = Random({dtype, Shape{8, 3, 3, 4}}, 1);
    m.types["data"] = {dtype, Shape{1, 6, 6, 4}};
    const auto executor = Bind(m);
    const auto again = executor->Reshape({{"data", {2, 7, 6, 4}}})->Reshape({{"data", {1, 6, 6, 4}}});
    ExpectSameBits(RunOnce(*again)[0], RunOnce(*executor)[0]);
  }
}

// Anchors of a detector: made of attributes, a parameter and the shape of an input.
TEST(Constants, WhatShapesDecideIsComputedOncePerPlan) {
  TestModel m;
  const Symbol x = Var("x");
  const Symbol counted = Op("exp", "exp", {Op("_contrib_arange_like", "count", {x}, {{"axis", "1"}, {"step", "0.1"}})});
  const Symbol front = Op("slice_like", "front", {Op("tanh", "tanh", {Var("w")}), x}, {{"axes", "(1,)"}});
  const Symbol lines = Op("broadcast_add", "lines", {front, Op("_arange", "line", {}, {{"stop", "1"}})});
  m.symbol = Op("broadcast_add", "sum", {x, Op("broadcast_mul", "anchors", {lines, counted})});
  m.params.args["w"] = Random({1, 16}, 1);
  m.types["x"] = F32({3, 8});
  TestModel other = m;
  other.types["x"] = F32({3, 12});
  const NDArray expected = RunOnce(m, On(Backend::kReference))[0];
  const NDArray of_other = RunOnce(other, On(Backend::kReference))[0];

  const auto executor = Bind(m);
  const PlanSummary summary = executor->summary();
  EXPECT_EQ(summary.steps.size(), 1u) << summary.Print();
  EXPECT_LT(Distance(expected, RunOnce(*executor)[0]), kFloatTolerance);
  std::fill_n(m.params.args["w"].As<float>(), 16, 9.f);  // a caller's array that was bound
  const auto reshaped = executor->Reshape({{"x", {3, 12}}});
  EXPECT_EQ(reshaped->summary().steps.size(), 1u) << reshaped->summary().Print();
  EXPECT_LT(Distance(of_other, RunOnce(*reshaped)[0]), kFloatTolerance);
  const auto back = reshaped->Reshape({{"x", {3, 8}}});
  EXPECT_LT(Distance(expected, RunOnce(*back)[0]), kFloatTolerance);
}

TEST(Constants, AWeightThatTwoNodesShare) {
  TestModel m;
  const Symbol w = Var("w");
  const AttrMap attrs{{"kernel", "(1, 1)"}, {"num_filter", "4"}, {"no_bias", "True"}};
  const Symbol first = Op("Convolution", "a", {Var("data"), w}, attrs);
  m.symbol = Symbol::Group({Op("Convolution", "b", {first, w}, attrs), w});
  m.params.args["w"] = Random({4, 4, 1, 1}, 1, 0.5f);
  m.types["data"] = F32({1, 4, 5, 5});
  CheckOutputs(m);
  RunOnce(*Bind(m)->Reshape({{"data", {3, 4, 5, 5}}}));
}

}  // namespace
}  // namespace amp::onednn
