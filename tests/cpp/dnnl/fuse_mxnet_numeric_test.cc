// Random models through OptimizeFor and conversion: fusing changes no value, and conversion decides as on the opened
// graph.
#include <gtest/gtest.h>

#include "dnnl/run_random_model.h"
#include "passes/fusion_mxnet/fuse_mxnet.h"
#include "passes/fusion_mxnet/unfuse.h"
#include "program/convert_model.h"

namespace amp::onednn {
namespace {

using namespace testing;
using amp::testing::RandomModel;

void ExpectCloseOutputs(const std::vector<NDArray>& expected, const std::vector<NDArray>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_LT(Distance(expected[i], actual[i]), 1e-6) << "output " << i;
}

std::size_t NumFused(const Symbol& symbol) {
  const Graph graph = symbol.ToGraph();
  return static_cast<std::size_t>(
      std::count_if(graph.nodes().begin(), graph.nodes().end(), [](const NodePtr& node) { return IsFused(*node); }));
}

ConvertOptions OptionsForFused(int i) {
  ConvertOptions options;
  options.policy = i % 2 == 0 ? PrecisionPolicy::kDefault : PrecisionPolicy::kMXNet;
  options.cast_params_offline = i / 2 % 2 == 0;
  if (i % 5 == 4) options.excluded = {"n1*"};
  options.ignore_unknown_names = true;
  return options;
}

TEST(OptimizeForRandomModels, ComputesTheSameBeforeAndAfterConversion) {
  constexpr int kModels = 300;
  constexpr std::uint32_t kSeed = 61000;
  std::size_t fused_before = 0, fused_after = 0;
  for (int i = 0; i < kModels; ++i) {
    SCOPED_TRACE(fmt::format("seed {} + {}", kSeed, i));
    const RandomModel model = amp::testing::RandomModelMaker(kSeed + i).Make(5 + i % 12);
    const Symbol fused = OptimizeFor(model.symbol, i % 3 == 2 ? "MKLDNN" : "ONEDNN", model.input_types);
    ExpectCloseOutputs(RunReference(model.symbol, model.params, model), RunReference(fused, model.params, model));

    const ConvertedModel converted = ConvertModel(fused, model.params, model.input_types, OptionsForFused(i));
    const ConvertedModel opened = ConvertModel(Unfuse(fused), model.params, model.input_types, OptionsForFused(i));
    const std::vector<NDArray> expected = RunReference(opened.symbol, opened.params, model);
    const std::vector<NDArray> actual = RunReference(converted.symbol, converted.params, model);
    if (OptionsForFused(i).policy == PrecisionPolicy::kDefault) {
      EXPECT_EQ(converted.symbol.ListOutputs(), opened.symbol.ListOutputs());
      ExpectCloseOutputs(expected, actual);
    }  // under policy mxnet a fused layer is one operator, whatever is in it
    for (std::size_t h = 0; h < expected.size(); ++h) EXPECT_LT(Distance(expected[h], actual[h]), 0.03);
    // Once instead of twice rounded is as near to the truth; what is wrong is farther away.
    const Symbol absorbed = OptimizeFor(converted.symbol, "ONEDNN_AMP", {});
    const std::vector<NDArray> written = RunReference(absorbed, converted.params, model);
    for (std::size_t h = 0; h < expected.size(); ++h) EXPECT_LT(Distance(expected[h], written[h]), 0.03);

    fused_before += NumFused(fused);
    fused_after += NumFused(converted.symbol);
    if (::testing::Test::HasFailure()) FAIL() << amp::testing::Text(fused) << amp::testing::Text(converted.symbol);
  }
  EXPECT_GT(fused_before, 500u);
  EXPECT_GT(fused_after, fused_before / 2);
}

}  // namespace
}  // namespace amp::onednn
