// Gradients stay what they are where the backward pass computes forward tensors again.
#include <gtest/gtest.h>

#include "dnnl/convolution_models.h"
#include "passes/gradient/gradient.h"
#include "passes/gradient/recompute.h"

namespace amp::onednn {
namespace {

using namespace testing;

TestModel NormedNetwork() {
  TestModel m;
  m.types["x"] = F32({2, 3, 12, 12});
  Symbol x = Var("x");
  std::int64_t channels = 3;
  for (const std::string layer : {"0", "1", "2"}) {
    x = Convolve(&m, "conv" + layer, x, channels, 8, {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}});
    x = Relu("relu" + layer, Norm(&m, "norm" + layer, x, 8));
    channels = 8;
  }
  m.symbol = Op("Pooling", "pool", {x}, {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}});
  return m;
}

TestModel WithOutputs(TestModel m, const Graph& graph) {
  m.symbol = Symbol(graph.outputs());
  return m;
}

TEST(Recompute, GradientsAreTheSame) {
  const TestModel m = NormedNetwork();
  std::vector<std::string> variables;
  for (const auto& [name, array] : m.params.args) variables.push_back(name);
  const Graph joint = JointGraph(MakeGradientGraph(m.symbol, variables));
  TypeMap known = m.types;
  for (const auto* arrays : {&m.params.args, &m.params.aux}) {
    for (const auto& [name, array] : *arrays) known[name] = array.type();
  }
  const Types types = Infer(joint, known);
  const std::int64_t peak = PeakOfKept(joint, types, Recomputed(joint.num_nodes(), false));
  const Graph smaller = RecomputeToFit(joint, types, peak * 3 / 4);
  EXPECT_GT(smaller.num_nodes(), joint.num_nodes());
  for (const Backend backend : {Backend::kReference, Backend::kOneDnn}) {
    const auto expected = RunOnce(WithOutputs(m, joint), On(backend));
    const auto actual = RunOnce(WithOutputs(m, smaller), On(backend));
    ASSERT_EQ(expected.size(), actual.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LT(Distance(expected[i], actual[i]), kFloatTolerance) << OutputName(joint.outputs()[i]);
    }
  }
}

// The plan runs copies when they are needed, not earlier: its memory shrinks as predicted.
TEST(Recompute, PlansNeedLessMemory) {
  TestModel m;
  m.types["x"] = F32({512, 16});
  Symbol x = Var("x");
  std::vector<std::string> variables;
  for (int i = 0; i < 8; ++i) {
    variables.push_back("w" + std::to_string(i));
    m.params.args[variables.back()] = Random({16, 16}, static_cast<std::uint32_t>(i), 0.3f);
    x = Op("dot", "dot" + std::to_string(i), {x, Var(variables.back())});
    for (const char* function : {"sin", "arctan", "erf"}) x = Op(function, function + std::to_string(i), {x});
  }
  m.symbol = x;
  const Graph joint = JointGraph(MakeGradientGraph(m.symbol, variables));
  TypeMap known = m.types;
  for (const auto& [name, array] : m.params.args) known[name] = array.type();
  const Types types = Infer(joint, known);
  const std::int64_t peak = PeakOfKept(joint, types, Recomputed(joint.num_nodes(), false));
  const Graph smaller = RecomputeToFit(joint, types, peak / 2);
  BindOptions options = On(Backend::kOneDnn);
  options.mode = NumericMode::kExact;
  const auto kept = Bind(WithOutputs(m, joint), options), again = Bind(WithOutputs(m, smaller), options);
  const auto saved =
      static_cast<double>(kept->summary().arena_bytes) - static_cast<double>(again->summary().arena_bytes);
  EXPECT_GT(saved, 0.3 * static_cast<double>(peak)) << kept->summary().arena_bytes;
  ExpectSameResults(*kept, *again);
}

}  // namespace
}  // namespace amp::onednn
