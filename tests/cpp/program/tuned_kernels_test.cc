#include "program/tuned_kernels.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nnvm/compose.h"
#include "nnvm/error.h"
#include "program/machine_table.h"
#include "program/machine_text.h"

namespace amp {
namespace {

using testing::ErrorOf;
using Json = nlohmann::ordered_json;

TunedKernels Record() {
  TunedKernels record;
  record.Set("layer 1", "onednn");
  record.Set("layer 2", "winograd_f4x4_f32");
  return record;
}

TEST(TunedKernels, AreReadAsTheyWereWritten) {
  const TunedKernels record = TunedKernels::FromJson(Record().ToJson());
  EXPECT_EQ(*record.Find("layer 1"), "onednn");
  EXPECT_EQ(*record.Find("layer 2"), "winograd_f4x4_f32");
  EXPECT_EQ(record.Find("layer 3"), nullptr);
}

TEST(TunedKernels, NewerOnesReplaceOlderOnes) {
  TunedKernels newer, record = Record();
  newer.Set("layer 2", "onednn");
  newer.Set("layer 3", "onednn");
  record.Merge(newer);
  EXPECT_EQ(*record.Find("layer 1"), "onednn");
  EXPECT_EQ(*record.Find("layer 2"), "onednn");
  EXPECT_NE(record.Find("layer 3"), nullptr);
}

TEST(TunedKernels, OfAnotherProgramAreLeftOut) {
  Json json = Record().ToJson();
  json["program"] = "0.0.0";
  EXPECT_TRUE(TunedKernels::FromJson(json).empty());
}

TEST(TunedKernels, ArePartOfAMachineFile) {
  Json file = testing::MachineFile();
  EXPECT_TRUE(MachineTable::Parse(file.dump(), "m.json")->tuned().empty());
  file["tuned"] = Record().ToJson();
  EXPECT_EQ(*MachineTable::Parse(file.dump(), "m.json")->tuned().Find("layer 2"), "winograd_f4x4_f32");
}

TEST(TunedKernels, DamagedOnesAreNamed) {
  for (const char* tuned : {"1", "{}", R"({"program": 1, "layers": {}})", R"({"program": "1.0.0"})",
                            R"({"program": "1.0.0", "layers": {"layer": 1}})"}) {
    Json file = testing::MachineFile();
    file["tuned"] = Json::parse(tuned);
    EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { MachineTable::Parse(file.dump(), "m.json"); }),
                    "machine file 'm.json': ");
  }
}

}  // namespace
}  // namespace amp
