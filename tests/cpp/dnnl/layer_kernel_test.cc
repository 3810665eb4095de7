// A layer kernel that generic code knows nothing of is matched, priced, chosen, laid out, packed, run and tuned.
#include "program/layer_kernel.h"

#include <gtest/gtest.h>

#include "dnnl/convolution_models.h"
#include "program/fake_layer_kernel.h"
#include "runtime/chosen_kernels.h"
#include "runtime/find_machine.h"

namespace amp::onednn {
namespace {

using namespace testing;
using amp::testing::kFakeChannels;
using amp::testing::kFakeKernel;

class LayerKernelTest : public OwnKernelPlans {
 protected:
  LayerKernelTest() : OwnKernelPlans([](nlohmann::ordered_json&) {}) {}

  // `ratio`: log 2 of what the fake takes beside what arithmetic and memory take.
  void Measure(double ratio) const {
    nlohmann::ordered_json file = amp::testing::MachineFile();
    file["steps"]["convolution_1x1 float32"] = {{0, 0, 0, 0, 0, 0, 0, 0}};
    file["steps"][std::string(kFakeKernel) + " float32"] = {{0, ratio}};
    WriteFile(MachinePath(), file.dump());
  }
  static const PlanStep& LayerOf(const PlanSummary& summary) {
    return *std::ranges::find(summary.steps, "convolution", &PlanStep::kind);
  }
};

TestModel OneLayer() {
  TestModel m;
  m.types["x"] = F32({2, 12, 5, 6});
  m.params.args["w"] = Random({kFakeChannels, 12, 1, 1}, 3);
  m.symbol = Op("Convolution", "layer", {Var("x"), Var("w")},
                {{"kernel", "(1, 1)"}, {"num_filter", "7"}, {"no_bias", "True"}});
  return m;
}

TEST_F(LayerKernelTest, IsLaidOutPackedAndRun) {
  const TestModel m = OneLayer();
  const auto own = Bind(m, Forced(kFakeKernel)), onednn = Bind(m, Forced("onednn"));
  const PlanStep& step = LayerOf(own->summary());
  EXPECT_EQ(step.implementation, std::string("own:") + kFakeKernel);
  EXPECT_STREQ(step.choice->name(), kFakeKernel);
  EXPECT_EQ(step.layout, "acdb");
  EXPECT_EQ(step.constant_bytes, 12 * kFakeChannels * sizeof(float));  // packed
  ExpectSameResults(*onednn, *own);
}

TEST_F(LayerKernelTest, IsPricedAndChosenByItsSamples) {
  for (const bool is_fast : {true, false}) {
    Measure(is_fast ? -6 : 6);
    const auto run = Bind(OneLayer(), Options());
    const std::string kernel = LayerOf(run->summary()).choice->name();
    EXPECT_EQ(kernel == kFakeKernel, is_fast) << run->summary().Print();
  }
}

TEST_F(LayerKernelTest, IsAnOptionOfTuning) {
  Measure(0);
  BindOptions options = Options();
  options.tune = true;
  const auto run = Bind(OneLayer(), options);
  EXPECT_TRUE(LayerOf(run->summary()).choice->is_tuned);
  const TestModel m = OneLayer();
  const std::vector<LayerDecision> layers = ChosenKernels(m.symbol, m.params, m.types, Options());
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_TRUE(std::ranges::count(layers[0].kernels, kFakeKernel));  // whatever was the fastest
  const auto tuned = FindMachine(MachinePath(), 2)->tuned();
  const auto again = Bind(OneLayer(), Options());  // for this CPU, which may have more kernels than the file's
  EXPECT_EQ(*tuned.Find(layers[0].key), LayerOf(again->summary()).choice->name());
}

// What the table of kernels says is consistent.
TEST_F(LayerKernelTest, NamesAreThoseOfSamples) {
  for (const auto& [name, kernel] : LayerKernels()) {
    EXPECT_EQ(name, kernel.name);
    for (const char* other : {kernel.samples, kernel.fallback}) {
      if (other == nullptr) continue;
      EXPECT_TRUE(LayerKernels().contains(other)) << name << " " << other;
    }
    EXPECT_LE(kernel.fused_producers, kMaxTakenSteps) << name;
    EXPECT_TRUE(kernel.max_time_ratio > 0 && kernel.max_time_ratio <= 1) << name;
  }
}

}  // namespace
}  // namespace amp::onednn
