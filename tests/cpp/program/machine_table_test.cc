#include "program/machine_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nnvm/compose.h"
#include "program/machine_text.h"
#include "program/shipped_machines.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;
using testing::ErrorOf;
using testing::MachineFile;

std::shared_ptr<const MachineTable> Parse(const Json& file) { return MachineTable::Parse(file.dump(), "m.json"); }

std::string RefusalOf(const std::string& text) {
  return ErrorOf<ArgumentError>([&] { MachineTable::Parse(text, "m.json"); });
}

StepFeatures OneStep(const std::string& group, double flops, std::size_t bytes, DType dtype = DType::kFloat32) {
  StepFeatures step{SampleKey::Parse(group), {1, 2}, {}};
  step.cost.flops = flops;
  step.cost.bytes_read = bytes;
  step.cost.dtype = dtype;
  return step;
}

TEST(MachineTable, ArithmeticOrTrafficAndAStart) {
  const auto machine = Parse(MachineFile());
  EXPECT_EQ(machine->name(), "small");
  EXPECT_TRUE(machine->capabilities().onednn_has_bf16);
  EXPECT_DOUBLE_EQ(machine->Seconds(OneStep("a", 1e6, 8)), 1e-6 + 1e-3);
  EXPECT_DOUBLE_EQ(machine->Seconds(OneStep("a", 1e6, 8, DType::kBFloat16)), 1e-6 + 5e-4);
  EXPECT_DOUBLE_EQ(machine->Seconds(OneStep("a", 1, 1000)), 1e-6 + 1e-6);
  EXPECT_DOUBLE_EQ(machine->TrafficSeconds(1 << 21), (1 << 21) / 5e8);
  EXPECT_DOUBLE_EQ(machine->TrafficSeconds(8e9), 16);    // beyond the last level its speed holds
  EXPECT_EQ(machine->Seconds(OneStep("a", 1e6, 0)), 0);  // a view
}

TEST(MachineTable, MeasuredStepsScaleIt) {
  Json file = MachineFile();
  file["steps"]["a float32"] = {{1, 2, 3}};            // 2^3 times as long
  file["steps"]["call_other float32"] = {{1, 2, -1}};  // half
  file["steps"]["b float32"] = {{0, 0, 0}, {64, 64, 5}};
  const auto machine = Parse(file);
  const double base = 1e-6 + 1e-3;
  EXPECT_NEAR(machine->Seconds(OneStep("a float32", 1e6, 8)), 8 * base, 1e-9);
  // A layout that was not measured.
  EXPECT_NEAR(machine->Seconds(OneStep("a float32 blocked", 1e6, 8)), 8 * base, 1e-9);
  EXPECT_NEAR(machine->Seconds(OneStep("call_take float32", 1e6, 8)), base / 2, 1e-9);
  EXPECT_DOUBLE_EQ(machine->Seconds(OneStep("a bfloat16", 1e6, 8)), base);
  EXPECT_NEAR(std::log2(machine->Seconds(OneStep("b float32", 1e6, 8)) / base), 0, 0.01);  // the near one decides
}

// Few samples of one dtype that is written are none beside those of the other. Layouts stay apart.
TEST(MachineTable, SmallWindowsHaveOneModelForAllOutputs) {
  Json file = MachineFile();
  file["steps"]["convolution_1x1 bfloat16 blocked"] = {{1, 2, 1}};
  file["steps"]["convolution_1x1 bfloat16-float32 blocked"] = {{1, 2, 3}};
  file["steps"]["convolution_1x1 bfloat16-float32 channels_last"] = {{1, 2, -1}};
  file["steps"]["convolution_kxk bfloat16"] = {{1, 2, 1}};
  file["steps"]["convolution_kxk bfloat16-float32"] = {{1, 2, 3}};
  const auto machine = Parse(file);
  const double base = 1e-6 + 1e-3;
  const auto seconds = [&](const char* group) { return machine->Seconds(OneStep(group, 1e6, 8)); };
  EXPECT_NEAR(seconds("convolution_1x1 bfloat16 blocked"), 4 * base, 1e-9);
  EXPECT_NEAR(seconds("convolution_1x1 bfloat16-float32 blocked"), 4 * base, 1e-9);
  EXPECT_NEAR(seconds("convolution_1x1 bfloat16 channels_last"), base / 2, 1e-9);
  EXPECT_NEAR(seconds("convolution_kxk bfloat16"), 2 * base, 1e-9);
  EXPECT_NEAR(seconds("convolution_kxk bfloat16-float32"), 8 * base, 1e-9);
}

// What a file says of them.
TEST(MachineTable, Capabilities) {
  Json file = MachineFile();
  file["has_bfloat16"] = false;
  const MachineCapabilities none = Parse(file)->capabilities();
  EXPECT_FALSE(none.has_bf16 || none.has_int16 || none.has_tiles || none.onednn_has_bf16);
  EXPECT_FALSE(none.onednn_is_channels_last || none.ComputesBF16());
  file["has_bfloat16"] = true;
  file["has_tiles"] = true;
  file["onednn_is_channels_last"] = true;
  const MachineCapabilities tiles = Parse(file)->capabilities();
  EXPECT_TRUE(tiles.has_bf16 && tiles.has_tiles && tiles.onednn_has_bf16 && tiles.onednn_is_channels_last);
  EXPECT_FALSE(tiles.has_int16);
  EXPECT_EQ(tiles.onednn_channel_block, kNarrowChannelBlock);
  file["isa"] = "avx512_core_amx";
  EXPECT_EQ(Parse(file)->capabilities().onednn_channel_block, kWideChannelBlock);
}

// What the library does not compute in bfloat16 it computes in float32, and somebody casts.
TEST(MachineTable, StepsOfTheLibraryBetweenCasts) {
  Json file = MachineFile();
  file["has_bfloat16"] = false;
  file["steps"]["a float32"] = {{1, 2, 1}};
  EXPECT_FALSE(Parse(file)->capabilities().ComputesBF16());
  file["has_int16"] = true;
  const auto machine = Parse(file);
  EXPECT_TRUE(machine->capabilities().ComputesBF16() && machine->capabilities().has_int16 &&
              !machine->capabilities().onednn_has_bf16);
  StepFeatures ours = OneStep("a bfloat16", 1e6, 1000, DType::kBFloat16), theirs = ours;
  theirs.by_onednn = true;
  EXPECT_DOUBLE_EQ(machine->Seconds(ours), 1e-6 + 5e-4);
  const double high = machine->Seconds(OneStep("a float32", 1e6, 2000));
  EXPECT_DOUBLE_EQ(machine->Seconds(theirs), high + machine->TrafficSeconds(3000));
}

TEST(MachineTable, FunctionsOfPostOpsAdd) {
  Json file = MachineFile();
  file["steps"]["eltwise_tanh float32"] = {{19, 2}};
  file["steps"]["eltwise_relu float32"] = {{19, 0}};
  const auto machine = Parse(file);
  StepFeatures step = OneStep("a", 1e6, 8);
  const double without = machine->Seconds(step);
  step.elements_written = 1000;
  step.post_functions = {SampleKey::Parse("eltwise_relu float32")};
  EXPECT_DOUBLE_EQ(machine->Seconds(step), without);
  step.post_functions = {SampleKey::Parse("eltwise_tanh float32")};
  const double per_element = 3 * (1e-6 / (1 << 16) + 8e-9);
  EXPECT_NEAR(machine->Seconds(step) - without, 1000 * per_element, 1e-8);
}

TEST(MachineTable, TheDigestTellsFilesApart) {
  Json file = MachineFile(), other = file;
  other["start_seconds"] = 2e-6;
  const Json a = Json::parse(Parse(file)->json()), b = Json::parse(Parse(other)->json());
  EXPECT_EQ(a["name"], "small");
  EXPECT_NE(a["digest"], b["digest"]);
  EXPECT_EQ(Parse(file)->json(), Parse(file)->json());
}

TEST(MachineTable, OtherSpeedsMakeAnotherMachine) {
  const auto machine = Parse(MachineFile()), faster = machine->WithSpeeds({{DType::kBFloat16, 8e9}}, "probed");
  EXPECT_EQ(faster->name(), "probed");
  EXPECT_EQ(faster->flops_per_second().at(DType::kBFloat16), 8e9);
  EXPECT_EQ(faster->flops_per_second().at(DType::kFloat32), 1e9);
  const Json before = Json::parse(machine->json()), after = Json::parse(faster->json());
  EXPECT_EQ(after["name"], "probed");
  EXPECT_NE(after["digest"], before["digest"]);
  const Json again = Json::parse(machine->WithSpeeds({{DType::kBFloat16, 9e9}}, "probed")->json());
  EXPECT_NE(again["digest"], after["digest"]);
  const StepFeatures step = OneStep("a", 1e6, 8);
  EXPECT_EQ(faster->Seconds(step), machine->Seconds(step));
}

// Read late, they say what they say when they are read at once.
TEST(MachineTable, ShippedFilesAreReadLate) {
  for (const ShippedMachine& shipped : ShippedMachines()) {
    const std::string text(shipped.text);
    const auto late = MachineTable::OfShipped(shipped.text), at_once = MachineTable::Parse(text, "m.json");
    EXPECT_EQ(late->json(), at_once->json());
    EXPECT_EQ(late->flops_per_second(), at_once->flops_per_second());
    EXPECT_TRUE(late->tuned().empty() && at_once->tuned().empty());
    int known = 0;
    const Json file = Json::parse(text);
    for (const auto& [group, samples] : file["steps"].items()) {
      StepFeatures step = OneStep(group, 1e6, 1000);
      step.point.clear();
      for (std::size_t i = 0; i + 1 < samples[0].size(); ++i) step.point.push_back(samples[0][i].get<float>());
      EXPECT_EQ(late->Seconds(step), at_once->Seconds(step)) << group;
      known += late->IsMeasured(step);
    }
    EXPECT_EQ(known, static_cast<int>(file["steps"].size())) << shipped.name;
  }
}

TEST(MachineTable, RefusesWhatIsNoJson) {
  for (const std::string text : {"", "{", "[]", "null", "7", "{\"format\": 1e999}", "\xff\xfe", "{\"a\": \"\xff\"}"}) {
    EXPECT_CONTAINS(RefusalOf(text), "machine file 'm.json': ");
  }
  EXPECT_CONTAINS(RefusalOf(std::string(100000, '[')), "m.json");
}

struct Mistake {
  const char* path;
  Json value;
};

TEST(MachineTable, RefusesWrongValues) {
  const Mistake mistakes[] = {
      {"/format", "another"},
      {"/version", 1},
      {"/version", 3},
      {"/version", nullptr},
      {"/name", 3},
      {"/has_bfloat16", "yes"},
      {"/start_seconds", 0},
      {"/start_seconds", -1},
      {"/start_seconds", 1e300},
      {"/start_seconds", "1"},
      {"/flops_per_second", 5},
      {"/flops_per_second", {{"bfloat16", 1e9}}},
      {"/flops_per_second", {{"float32", 1e-300}}},
      {"/flops_per_second", {{"float32", 1e9}, {"float31", 1e9}}},
      {"/bytes_per_second", Json::array()},
      {"/bytes_per_second", {{1}}},
      {"/bytes_per_second", {{"1", 1e9}}},
      {"/bytes_per_second", {{1024, 0}}},
      {"/bytes_per_second", {{1024, 1e9}, {512, 1e9}}},
      {"/steps", 5},
      {"/steps", {{"a", 5}}},
      {"/steps", {{"a", {{1}}}}},
      {"/steps", {{"a", {{1, "2"}}}}},
      {"/steps", {{"a", {{1, 1e30}}}}},
      {"/steps", {{"a", {{1, 2}, {1, 2, 3}}}}},
  };
  for (const Mistake& mistake : mistakes) {
    Json file = MachineFile();
    file[Json::json_pointer(mistake.path)] = mistake.value;
    EXPECT_CONTAINS(RefusalOf(file.dump()), "machine file 'm.json': ") << file.dump();
  }
  const Json all = MachineFile();
  for (const auto& [key, value] : all.items()) {
    Json file = all;
    file.erase(key);
    EXPECT_CONTAINS(RefusalOf(file.dump()), key);
  }
}

TEST(MachineTable, HostileNamesAreQuoted) {
  Json file = MachineFile();
  file["name"] = std::string(100000, 'x') + "\n\x01";
  EXPECT_LT(Parse(file)->name().size(), 200u);
  file["flops_per_second"]["\n" + std::string(100000, 'y')] = 1e9;
  EXPECT_LT(RefusalOf(file.dump()).size(), 400u);
}

}  // namespace
}  // namespace amp
