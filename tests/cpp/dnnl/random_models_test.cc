// Random models on both backends: layouts, aliases, places in memory and in-place work must not show.
#include <gtest/gtest.h>

#include "dnnl/run_random_model.h"

namespace amp::onednn {
namespace {

using namespace testing;

std::vector<NDArray> SecondRun(const amp::testing::RandomModel& model, const BindOptions& options) {
  Executor executor(model.symbol, model.params, model.input_types, options);
  RunOnInputsOf(model, executor);
  return RunOnInputsOf(model, executor);  // nothing of the first run may be left in the second
}

void Compare(const BindOptions& reference, const BindOptions& options, double tolerance) {
  constexpr int kModels = 150;
  constexpr std::uint32_t kSeed = 977;
  for (int i = 0; i < kModels; ++i) {
    SCOPED_TRACE(fmt::format("seed {} + {}", kSeed, i));
    amp::testing::RandomModelMaker maker(kSeed + i);
    const amp::testing::RandomModel model = maker.Make(5 + i % 12);
    const std::vector<NDArray> expected = SecondRun(model, reference), actual = SecondRun(model, options);
    for (std::size_t h = 0; h < expected.size(); ++h) {
      EXPECT_LT(Distance(expected[h], actual[h]), tolerance) << model.symbol.ListOutputs()[h];
    }
    if (::testing::Test::HasFailure()) FAIL() << amp::testing::Text(model.symbol);
  }
}

// Fast plans leave out roundings of casts that the graph asks for.
TEST(RandomModels, Float32) { Compare(On(Backend::kReference), On(Backend::kOneDnn, 2), 0.01); }
TEST(RandomModels, ExactFloat32) { Compare(On(Backend::kReference), Mode(NumericMode::kExact, 2), 1e-4); }

// Single roundings differ where sums differ in their last bits.
TEST(RandomModels, BFloat16) { Compare(Low(DType::kBFloat16, Backend::kReference), Low(), 0.04); }
TEST(RandomModels, Float16) { Compare(Low(DType::kFloat16, Backend::kReference), Low(DType::kFloat16), 0.005); }

}  // namespace
}  // namespace amp::onednn
