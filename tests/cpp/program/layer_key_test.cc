#include "program/layer_key.h"

#include <gtest/gtest.h>

#include <set>

#include "program/layer_kernel.h"

namespace amp {
namespace {

struct KeyedLayer {
  Step step{ConvolutionSpec{{1, 1}, {0, 0}, {1, 1}, {1, 1}}, {0, 1}, {2}, 0, ""};
  StepTypes types{{{DType::kFloat32, {1, 16, 8, 8}}, {DType::kFloat32, {32, 16, 3, 3}}},
                  {{DType::kFloat32, {1, 32, 8, 8}}}};
  int num_threads = 2;
  std::string Key() const { return LayerKey(step, types, num_threads); }
};

TEST(LayerKey, IsReadable) {
  EXPECT_EQ(KeyedLayer().Key(),
            "convolution float32[1x16x8x8] float32[32x16x3x3] -> float32[1x32x8x8] stride 1x1 gaps 0x0 pads 1x1-1x1 "
            "2 threads");
}

TEST(LayerKey, TellsLayersApart) {
  std::vector<KeyedLayer> layers(10);
  layers[1].num_threads = 4;
  layers[2].types.inputs[0].dtype = DType::kBFloat16;
  layers[3].types.inputs[0].shape = {2, 16, 8, 8};
  std::get<ConvolutionSpec>(layers[4].step.spec).strides = {2, 2};
  layers[5].step.post_ops = {{EltwiseSpec{EltwiseKind::kRelu}}};
  layers[6].step.post_ops = {{SumSpec{}}, {EltwiseSpec{EltwiseKind::kRelu}}};
  layers[7].step.spec = DeconvolutionSpec{{1, 1}, {0, 0}, {1, 1}, {1, 1}};
  layers[8].step.spec = PoolingSpec{PoolingKind::kMax, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
  layers[9].step.spec = PoolingSpec{PoolingKind::kMax, {5, 5}, {1, 1}, {2, 2}, {2, 2}};
  std::set<std::string> keys;
  for (const KeyedLayer& layer : layers) keys.insert(layer.Key());
  EXPECT_EQ(keys.size(), layers.size());
}

// The key is that of the layer, whoever computes it.
TEST(LayerKey, IsTheSameForAllKernels) {
  KeyedLayer own;
  own.step.choice = LayerChoice{&LayerKernels().at("winograd_f4x4_f32")};
  own.step.node = 7;
  EXPECT_EQ(own.Key(), KeyedLayer().Key());
}

}  // namespace
}  // namespace amp
