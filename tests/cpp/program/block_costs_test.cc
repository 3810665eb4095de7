#include "program/block_costs.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/short_dtypes.h"
#include "passes/typed.h"
#include "program/graph_costs.h"
#include "program/machine_text.h"

namespace amp::testing {
namespace {

Symbol Conv(const std::string& name, const Symbol& x, int outputs, int kernel, int groups = 1) {
  const std::string size = std::to_string(kernel), pad = std::to_string(kernel / 2);
  return Op("Convolution", name, {x, Var(name + "_w")},
            {{"kernel", "(" + size + ", " + size + ")"},
             {"pad", "(" + pad + ", " + pad + ")"},
             {"num_filter", std::to_string(outputs)},
             {"num_group", std::to_string(groups)},
             {"no_bias", "True"}});
}

Symbol Clip(const std::string& name, const Symbol& x) {
  return Op("clip", name, {x}, {{"a_min", "0"}, {"a_max", "6"}});
}

// From 24 channels to 144, depthwise, and back; with so many functions behind the first.
Symbol InvertedResidual(int functions = 1) {
  Symbol x = Conv("expand", Var("x"), 144, 1);
  for (int i = 0; i < functions; ++i) x = Clip("clip" + std::to_string(i), x);
  return Conv("project", Clip("last", Conv("depthwise", x, 144, 3, 144)), 24, 1);
}

Model TypedBlock(const Symbol& symbol, DType dtype = kF32) {
  return Model(symbol.ToGraph(),
               {{"x", {dtype, {1, 24, 28, 28}}},
                {"expand_w", {dtype, {144, 24, 1, 1}}},
                {"depthwise_w", {dtype, {144, 1, 3, 3}}},
                {"project_w", {dtype, {24, 144, 1, 1}}}},
               {"expand_w", "depthwise_w", "project_w"});
}

// On which blocks take a part of what their formula says, where `has_blocks`, and depthwise convolutions of bfloat16
// sixteen times as long as theirs.
std::shared_ptr<const MachineTable> MachineOfBlocks(bool has_blocks, bool is_channels_last = true) {
  nlohmann::ordered_json file = MachineFile();
  file["isa"] = "avx512_core_bf16";
  file["onednn_is_channels_last"] = is_channels_last;
  file["steps"]["convolution_depthwise bfloat16"] = {{0, 0, 0, 0, 0, 0, 0, 4}};
  if (has_blocks) {
    file["steps"]["expanding_fused_depthwise_float32 float32"] = {{0, 0, 0, 0, 0, 0, 0, -2}};
    file["steps"]["expanding_fused_depthwise_bfloat16 bfloat16"] = {{0, 0, 0, 0, 0, 0, 0, -2}};
  }
  return MachineTable::Parse(file.dump(), "test");
}

Picoseconds TimeOfBlock(const GraphCosts& costs, const Model& model, DType dtype) {
  Picoseconds sum = 0;
  for (const char* name : {"expand", "depthwise", "project"}) {
    sum += costs.OfNode(IdOf(model, name), {dtype, dtype}, {dtype});
  }
  return sum;
}

TEST(BlockCosts, LayersTakeTheTimeOfTheirBlock) {
  const Model model = TypedBlock(InvertedResidual());
  const auto apart = MachineOfBlocks(false), together = MachineOfBlocks(true);
  for (const DType dtype : {kF32, kBF16}) {
    EXPECT_LT(2 * TimeOfBlock(GraphCosts(*together, model), model, dtype),
              TimeOfBlock(GraphCosts(*apart, model), model, dtype));
  }
}

// Plans have blocks where oneDNN's convolutions of images have their channels last; prices say the same.
TEST(BlockCosts, NoneWhereImagesAreBlocked) {
  const Model model = TypedBlock(InvertedResidual());
  const auto apart = MachineOfBlocks(false, false), together = MachineOfBlocks(true, false);
  EXPECT_EQ(TimeOfBlock(GraphCosts(*together, model), model, kF32),
            TimeOfBlock(GraphCosts(*apart, model), model, kF32));
}

TEST(BlockCosts, ACastInTheMiddleTakesAllThatItGains) {
  const Model model = TypedBlock(InvertedResidual());
  const auto apart = MachineOfBlocks(false), together = MachineOfBlocks(true);
  const GraphCosts costs(*together, model), others(*apart, model);
  const Picoseconds gain = TimeOfBlock(others, model, kBF16) - TimeOfBlock(costs, model, kBF16);
  for (const char* name : {"depthwise", "project"}) {
    const NodeId id = IdOf(model, name);
    EXPECT_GE(costs.OfLostFusion(model.graph().InputsOf(id)[0], {id, 0}), gain) << name;
    EXPECT_EQ(others.OfLostFusion(model.graph().InputsOf(id)[0], {id, 0}), 0) << name;
  }
  const NodeId first = IdOf(model, "expand");
  EXPECT_EQ(costs.OfLostFusion(model.graph().InputsOf(first)[0], {first, 0}), 0);
}

// Such a convolution by itself is faster in float32, between casts; in a block it is not.
TEST(BlockCosts, NoLayerOfABlockIsComputedInFloat32) {
  const Model model = TypedBlock(InvertedResidual(), kBF16);
  const NodeId depthwise = IdOf(model, "depthwise");
  EXPECT_TRUE(GraphCosts(*MachineOfBlocks(false), model).FasterInFloat32()[depthwise]);
  EXPECT_FALSE(GraphCosts(*MachineOfBlocks(true), model).FasterInFloat32()[depthwise]);
}

TEST(BlockCosts, OthersAreNoBlocks) {
  const auto apart = MachineOfBlocks(false), together = MachineOfBlocks(true);
  const Symbol expand = Conv("expand", Var("x"), 144, 1), twice = Clip("clip", expand);
  const Symbol read_twice = Symbol::Group({Conv("project", Conv("depthwise", twice, 144, 3, 144), 24, 1), twice});
  for (const Symbol& symbol : {InvertedResidual(5), InvertedResidual(20000), read_twice}) {
    const Model model = TypedBlock(symbol);
    EXPECT_EQ(TimeOfBlock(GraphCosts(*together, model), model, kF32),
              TimeOfBlock(GraphCosts(*apart, model), model, kF32));
  }
}

}  // namespace
}  // namespace amp::testing
