// Kernels that timing chooses, and what is kept of that. No test says which ones are fast.
#include "runtime/tune.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dnnl/convolution_models.h"
#include "dnnl/cpu_info.h"
#include "dnnl/layer_times.h"
#include "kernels/base/cpu.h"
#include "kernels/winograd/winograd.h"
#include "nnvm/file_io.h"
#include "nnvm/temporary_folder.h"
#include "program/kernel_chooser.h"
#include "program/layer_kernel.h"
#include "program/machine_text.h"
#include "runtime/bound_bodies.h"
#include "runtime/find_machine.h"

namespace amp::onednn {
namespace {

using namespace testing;
using Json = nlohmann::ordered_json;

Symbol PaddedConv(TestModel* m, const std::string& name, const Symbol& x, std::int64_t in, std::int64_t out,
                  int kernel) {
  return Convolve(
      m, name, x, in, out,
      {{"kernel", fmt::format("({}, {})", kernel, kernel)}, {"pad", fmt::format("({}, {})", kernel / 2, kernel / 2)}});
}

// Two 3x3 convolutions of one key, a 1x1 convolution, and one of a norm that nothing else reads.
TestModel TunedNetwork() {
  TestModel m;
  m.types["x"] = F32({1, 32, 14, 14});
  const Symbol first = Relu("relu1", PaddedConv(&m, "conv1", Var("x"), 32, 32, 3));
  const Symbol second = Relu("relu2", PaddedConv(&m, "conv2", first, 32, 32, 3));
  const Symbol narrow = Relu("relu3", PaddedConv(&m, "conv3", second, 32, 48, 1));
  const Symbol scaled = Relu("relu4", Norm(&m, "norm", narrow, 48));
  const Symbol last = PaddedConv(&m, "conv4", scaled, 48, 48, 1);
  m.symbol = Op("elemwise_add", "sum", {last, narrow});
  return m;
}

class TuneTest : public ::testing::Test {
 protected:
  TuneTest() {
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    unsetenv("AMP_MACHINE");
    WriteFile(path(), amp::testing::MachineFile().dump());
  }
  ~TuneTest() override {
    unsetenv("XDG_CACHE_HOME");
    setenv("AMP_MACHINE", "any", 1);
  }

  std::string path() const { return folder_.path() + "/machine.json"; }
  BindOptions Options(bool tune = false) const {
    BindOptions options = On(Backend::kOneDnn, 2);
    options.machine = path();
    options.tune = tune;
    return options;
  }
  Json Layers() const { return Json::parse(ReadFile(path())).at("tuned").at("layers"); }

  amp::testing::TemporaryFolder folder_;
};

std::vector<PlanStep> Chosen(const PlanSummary& summary) {
  std::vector<PlanStep> steps;
  std::copy_if(summary.steps.begin(), summary.steps.end(), std::back_inserter(steps),
               [](const PlanStep& step) { return step.choice.has_value(); });
  return steps;
}

TEST_F(TuneTest, ResultsAreTheSame) {
  const TestModel m = TunedNetwork();
  BindOptions library = Options();
  library.machine = "any";
  const auto expected = RunOnce(m, library);
  const auto tuned = Bind(m, Options(true));
  for (int i = 0; i < 2; ++i) EXPECT_LT(Distance(expected[0], RunOnce(*tuned)[0]), kFloatTolerance);
}

TEST_F(TuneTest, WhatTimingChoseIsReplayed) {
  const TestModel m = TunedNetwork();
  const std::string tuned = Bind(m, Options(true))->summary().Print();
  const std::string written = ReadFile(path());
  EXPECT_EQ(Layers().size(),
            4u);  // one of the two equal convolutions, the others, and the pair of norm and convolution
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Bind(m, Options())->summary().Print(), tuned);
  EXPECT_EQ(ReadFile(path()), written);
  EXPECT_CONTAINS(tuned, ", tuned]");
}

TEST_F(TuneTest, ARecordIsFollowedLayerByLayer) {
  const TestModel m = TunedNetwork();
  Bind(m, Options(true));
  Json file = Json::parse(ReadFile(path()));
  for (auto& [key, kernel] : file["tuned"]["layers"].items()) {
    if (key.find("float32[32x32x3x3]") != std::string::npos) kernel = "winograd_f4x4_f32";
    if (key.find(" > ") != std::string::npos) kernel = "scaled_gemm_float32";
    if (key.find("float32[48x32x1x1]") != std::string::npos) kernel = "onednn";
  }
  WriteFile(path(), file.dump());
  const auto steps = Chosen(Bind(m, Options())->summary());
  std::vector<std::string> kernels;
  for (const PlanStep& step : steps) {
    kernels.push_back(step.choice->name());
    EXPECT_TRUE(step.choice->is_tuned) << step.node;
    EXPECT_TRUE(step.choice->predicted_seconds.has_value()) << step.node;
  }
  EXPECT_EQ(kernels,
            (std::vector<std::string>{"winograd_f4x4_f32", "winograd_f4x4_f32", "onednn", "scaled_gemm_float32"}));
}

TEST_F(TuneTest, RecordsAreOfOneThreadCount) {
  const TestModel m = TunedNetwork();
  Bind(m, Options(true));
  BindOptions one = Options();
  one.num_threads = 1;
  for (const PlanStep& step : Chosen(Bind(m, one)->summary())) EXPECT_FALSE(step.choice->is_tuned) << step.node;
  one.tune = true;
  Bind(m, one);
  EXPECT_EQ(Layers().size(), 8u);
}

TEST_F(TuneTest, ModelsWithoutAChoiceLeaveTheFile) {
  TestModel m;
  m.types["x"] = F32({2, 3});
  m.symbol = Op("exp", "exp", {Var("x")});
  const std::string before = ReadFile(path());
  Bind(m, Options(true));
  EXPECT_EQ(ReadFile(path()), before);
}

TEST_F(TuneTest, OtherShapesHaveChoicesOfTheirOwn) {
  const TestModel m = TunedNetwork();
  const auto tuned = Bind(m, Options(true));
  TestModel larger = m;
  larger.types["x"] = F32({3, 32, 14, 14});
  const auto reshaped = tuned->Reshape({{"x", {3, 32, 14, 14}}});
  for (const PlanStep& step : Chosen(reshaped->summary())) EXPECT_FALSE(step.choice->is_tuned) << step.node;
  BindOptions library = Options();
  library.machine = "any";
  EXPECT_LT(Distance(RunOnce(larger, library)[0], RunOnce(*reshaped)[0]), kFloatTolerance);
}

TEST_F(TuneTest, WhereNothingCanBeChosenOrKept) {
  const TestModel m = TunedNetwork();
  const auto error = [&](const BindOptions& options) { return ErrorOf<ArgumentError>([&] { Bind(m, options); }); };
  for (const char* machine : {"any", "avx2"}) {
    BindOptions options = Options(true);
    options.machine = machine;
    EXPECT_CONTAINS(error(options),
                    fmt::format("tune: what timing chooses is kept in a machine's file, and '{}'", machine));
  }
  BindOptions exact = Options(true), reference = Options(true), emulated = Options(true);
  exact.mode = NumericMode::kExact;
  reference.backend = Backend::kReference;
  emulated.reduce_precision = ReduceOptions{DType::kBFloat16, true};
  EXPECT_CONTAINS(error(exact), "tune: there is a choice in mode 'fast'");
  EXPECT_CONTAINS(error(reference), "tune: there is a choice in mode 'fast'");
  EXPECT_CONTAINS(error(emulated), "tune: 'emulate' converts");
}

TEST_F(TuneTest, DamagedFilesAreNamedAndStay) {
  WriteFile(path(), "{");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Bind(TunedNetwork(), Options(true)); }),
                  "machine file '" + path() + "'");
  EXPECT_EQ(ReadFile(path()), "{");
}

// ---- the machine that runs this ----

// A file of what timing chose does not hold times: those of the class, and of its probe, stay as they are.
TEST_F(TuneTest, ThisMachineKeepsItsTimes) {
  constexpr int kThreads = 71;  // that no other test asks for: what was found is remembered
  const auto before = FindMachine("this", kThreads);
  TunedKernels record;
  record.Set("layer", "onednn");
  const auto after = AddTuned("this", kThreads, record);
  EXPECT_EQ(FindMachine("this", kThreads), after);
  EXPECT_EQ(after->name(), before->name());
  EXPECT_NE(after->json(), before->json());
  EXPECT_EQ(*after->tuned().Find("layer"), "onednn");
  const Json file = Json::parse(ReadFile(MachineFilePath(kThreads)));
  EXPECT_FALSE(file.contains("steps"));
  // Named as a file it is the same machine.
  EXPECT_EQ(*FindMachine(MachineFilePath(kThreads), kThreads)->tuned().Find("layer"), "onednn");
  TunedKernels more;
  more.Set("layer 2", "onednn");
  EXPECT_NE(AddTuned("this", kThreads, more)->tuned().Find("layer"), nullptr);
}

TEST_F(TuneTest, ACalibratedFileKeepsItsMeasurements) {
  constexpr int kThreads = 72;
  std::filesystem::create_directories(std::filesystem::path(MachineFilePath(kThreads)).parent_path());
  WriteFile(MachineFilePath(kThreads), amp::testing::MachineFile().dump());
  TunedKernels record;
  record.Set("layer", "onednn");
  EXPECT_EQ(AddTuned("this", kThreads, record)->name(), "small");
  Json file = Json::parse(ReadFile(MachineFilePath(kThreads)));
  file.erase("tuned");
  EXPECT_EQ(file, amp::testing::MachineFile());
}

// ---- which kernels are the fastest ----

BoundModel Bound(const TestModel& m) {
  CompileOptions options{.num_threads = 2, .bodies = NewBodyPlans()};
  return BindModel({m.symbol, m.params, "", nullptr}, m.types, options);
}

std::shared_ptr<const Plan> PlanWith(const BoundModel& bound, const std::string& kernel) {
  BoundModel model = bound;
  model.options.kernels = std::make_shared<ForcedKernel>(kernel);
  return MakePlan(model);
}

TEST_F(TuneTest, LayersOfOneKeyAreAddedUp) {
  const auto plan = PlanWith(Bound(TunedNetwork()), kOneDnnKernel);
  std::vector<double> seconds(plan->summary.steps.size());
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const std::string& node = plan->summary.steps[i].node;
    if (node == "conv1" || node == "conv2") seconds[i] = 1;
    if (node == "conv3") seconds[i] = 10;
    if (node == "norm") seconds[i] = 100;
    if (node == "conv4") seconds[i] = 1000;
    if (plan->summary.steps[i].kind == "reorder") seconds[i] = 0;
  }
  std::vector<double> found;
  for (const LayerTime& layer : LayerTimes(*plan, seconds)) found.push_back(layer.seconds);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<double>{2, 10, 1000, 1100}));
}

TEST_F(TuneTest, LayersThatAreTakenHaveNoTime) {
  const auto plan = PlanWith(Bound(TunedNetwork()), "scaled_gemm_float32");
  const auto times = LayerTimes(*plan, std::vector<double>(plan->summary.steps.size(), 1));
  EXPECT_EQ(times.size(), 3u);
  EXPECT_EQ(std::count_if(times.begin(), times.end(),
                          [](const LayerTime& layer) { return layer.kernel == "scaled_gemm_float32"; }),
            1);
}

// The input is in rows and the output, too: a reorder on each side.
TEST_F(TuneTest, ReordersCountToTheLayerBetweenThem) {
  TestModel m;
  m.types["x"] = F32({1, 32, 14, 14});
  m.symbol = PaddedConv(&m, "conv", Var("x"), 32, 32, 3);
  const auto plan = PlanWith(Bound(m), "winograd_f4x4_f32");
  const auto times = LayerTimes(*plan, std::vector<double>(plan->summary.steps.size(), 1));
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(plan->summary.num_reorders, 2) << plan->summary.Print();
  EXPECT_EQ(times[0].seconds, 3);
}

std::string Fastest(const std::vector<std::vector<LayerTime>>& plans, std::size_t predicted = 0) {
  const LayerDecision layer{"layer", {0}, {"onednn", "a", "b"}, predicted};
  return *FastestKernels({layer}, plans).Find("layer");
}

TEST(FastestKernels, WhatIsPredictedStaysUnlessAnotherIsClearlyFaster) {
  EXPECT_EQ(Fastest({{{"layer", "onednn", 10}}, {{"layer", "a", 9.7}}, {{"layer", "b", 11}}}), "onednn");
  EXPECT_EQ(Fastest({{{"layer", "onednn", 10}}, {{"layer", "a", 9}}, {{"layer", "b", 8.9}}}), "b");
  EXPECT_EQ(Fastest({{{"layer", "onednn", 9.8}}, {{"layer", "a", 10}}}, 1), "a");
  EXPECT_EQ(Fastest({{{"layer", "onednn", 9}}, {{"layer", "a", 10}}}, 1), "onednn");
}

TEST(FastestKernels, OfSeveralPlansTheFastestOne) {
  EXPECT_EQ(Fastest({{{"layer", "onednn", 10}}, {{"layer", "a", 9}}, {{"layer", "onednn", 8}}}), "onednn");
}

TEST(FastestKernels, WhatWasNotTimed) {
  EXPECT_EQ(Fastest({}, 2), "b");
  EXPECT_EQ(Fastest({{{"layer", "a", 5}}}, 2), "a");  // what is predicted is part of another layer in all plans
}

// ---- forced kernels ----

TEST_F(TuneTest, ForcedKernelsComputeTheSame) {
  const TestModel m = TunedNetwork();
  const std::map<std::string, int> places = {{"winograd_f4x4_f32", 2}, {"gemm_float32", 2}, {"scaled_gemm_float32", 1}};
  BindOptions options = On(Backend::kOneDnn, 2);
  options.machine = "any";
  const auto expected = RunOnce(m, options);
  for (const auto& [kernel, count] : places) {
    if (kernel == "gemm_float32" && !OneDnnIsChannelsLast()) continue;
    options.forced_kernel = kernel;
    const auto forced = Bind(m, options);
    int found = 0;
    for (const PlanStep& step : Chosen(forced->summary())) found += step.choice->name() == kernel;
    EXPECT_EQ(found, count) << forced->summary().Print();
    EXPECT_LT(Distance(expected[0], RunOnce(*forced)[0]), kFloatTolerance) << kernel;
  }
}

TEST_F(TuneTest, ForcedKernelsOfLowPrecisionComputeTheSame) {
  if (!kernels::HasWinograd(kernels::WinogradKind::kF4x4Int16)) GTEST_SKIP() << "no code that multiplies int16";
  const TestModel m = TunedNetwork();
  BindOptions options = Low();
  options.num_threads = 2;
  for (const auto& [name, kernel] : LayerKernels()) {
    options.forced_kernel = name;
    EXPECT_LT(Distance(RunOnce(m)[0], RunOnce(m, options)[0]), 3e-2) << name;
  }
}

}  // namespace
}  // namespace amp::onednn
