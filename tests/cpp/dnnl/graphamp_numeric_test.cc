// Policy graphamp in numbers: mp2 moves casts across operators that commute with rounding, and so gives mp1's results.
#include <gtest/gtest.h>

#include "dnnl/run_random_model.h"

namespace amp::onednn {
namespace {

using namespace testing;

BindOptions ExactPreset(Backend backend, const std::string& preset) {
  BindOptions options = On(backend, 2);
  options.mode = NumericMode::kExact;
  options.reduce_precision = ReduceOptions{DType::kBFloat16, true};
  options.reduce_precision->conversion.policy = PrecisionPolicy::kGraphAmp;
  options.reduce_precision->conversion.preset = PresetFromName(preset);
  return options;
}

std::int64_t CountDifferences(const NDArray& a, const NDArray& b) {
  std::int64_t different = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) different += At(a, i) != At(b, i);
  return different;
}

// The share of all elements in which the two presets differ.
double ShareInWhichPresetsDiffer(Backend backend) {
  constexpr std::uint32_t kModels = 60;
  std::int64_t different = 0, all = 0;
  for (std::uint32_t seed = 0; seed < kModels; ++seed) {
    amp::testing::RandomModelMaker maker(3000 + seed);
    const amp::testing::RandomModel model = maker.Make(5 + static_cast<int>(seed % 12));
    const auto run = [&](const std::string& preset) {
      Executor executor(model.symbol, model.params, model.input_types, ExactPreset(backend, preset));
      return RunOnInputsOf(model, executor);
    };
    const std::vector<NDArray> first = run("mp1"), second = run("mp2");
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first[i].type(), second[i].type());
      different += CountDifferences(first[i], second[i]);
      all += first[i].size();
    }
  }
  EXPECT_GT(all, 10000);
  return static_cast<double>(different) / static_cast<double>(all);
}

TEST(GraphAmpNumbers, Mp1AndMp2AreEqualOnTheReferenceBackend) {
  EXPECT_EQ(ShareInWhichPresetsDiffer(Backend::kReference), 0);
}
TEST(GraphAmpNumbers, Mp1AndMp2AreEqualOnOneDnn) { EXPECT_LE(ShareInWhichPresetsDiffer(Backend::kOneDnn), 1e-4); }

}  // namespace
}  // namespace amp::onednn
