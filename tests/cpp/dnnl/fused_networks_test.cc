// Optimised plans against plans of the graph as it is, over random networks.
#include <gtest/gtest.h>

#include <cstdlib>

#include "dnnl/compile_options.h"
#include "dnnl/cpu_info.h"
#include "dnnl/random_networks.h"
#include "passes/pipelines.h"
#include "passes/random_models.h"

namespace amp::onednn {
namespace {

using namespace testing;

// AMP_TEST_NETWORKS=2000 for a long run.
int NumNetworks() {
  const char* text = std::getenv("AMP_TEST_NETWORKS");
  return text != nullptr ? std::atoi(text) : 300;
}

class DisabledPasses {
 public:
  explicit DisabledPasses(const std::string& names) { setenv("AMP_DISABLE_PASSES", names.c_str(), 1); }
  ~DisabledPasses() { unsetenv("AMP_DISABLE_PASSES"); }
  DisabledPasses(const DisabledPasses&) = delete;
  DisabledPasses& operator=(const DisabledPasses&) = delete;
};

// Each pass with one chance in two; all of them for `everything`.
std::string SomePasses(std::mt19937* random, bool everything) {
  std::string names;
  std::vector<std::string> passes = OptionalPasses();
  passes.insert(passes.end(), kOptionalPlanStages.begin(), kOptionalPlanStages.end());
  for (const std::string& pass : passes) {
    if (everything || (*random)() % 2 == 0) names += pass + ",";
  }
  return names;
}

std::vector<NDArray> RunTwice(const TestModel& model, const BindOptions& options, const std::string& disabled) {
  const DisabledPasses passes(disabled);
  const auto executor = Bind(model, options);
  executor->Run(InputsFor(*executor));
  return executor->Run(InputsFor(*executor));  // nothing of the first run may be left in the second
}

// Options of a run of the model, converted or not, on `threads` threads.
BindOptions Options(bool low, NumericMode mode, int threads) {
  BindOptions options = low ? Low() : On(Backend::kOneDnn);
  options.mode = mode;
  options.num_threads = threads;
  return options;
}

class FusedNetworks : public ::testing::Test {
 protected:
  // Half of the networks are converted.
  void SetUp() override {
    if (!OneDnnHasBF16()) GTEST_SKIP() << "the CPU has no bfloat16 arithmetic";
  }

  // compare(model, whether to convert it, number of threads for one plan, passes for that plan to leave out).
  template <class Compare>
  void ForEach(const Compare& compare) {
    for (int i = 0; i < NumNetworks(); ++i) {
      SCOPED_TRACE(fmt::format("seed {} + {}", kSeed, i));
      const TestModel model = RandomNetworkMaker(kSeed + static_cast<std::uint32_t>(i)).Make(4 + i % 17);
      compare(model, i % 2 == 1, 1 + i / 2 % 2, SomePasses(&random_, false));
      if (HasFailure()) FAIL() << amp::testing::Text(model.symbol);
    }
  }

  std::string AllPasses() { return SomePasses(&random_, true); }

 private:
  static constexpr std::uint32_t kSeed = 31000;

  std::mt19937 random_{kSeed};
};

TEST_F(FusedNetworks, ExactPlansHaveTheSameBitsHoweverTheyAreMade) {
  ForEach([&](const TestModel& model, bool low, int threads, const std::string& some) {
    const auto expected = RunTwice(model, Options(low, NumericMode::kExact, 1), AllPasses());
    const std::pair<int, std::string> plans[] = {{1, ""}, {2, ""}, {threads, some}};
    for (const auto& [count, disabled] : plans) {
      SCOPED_TRACE(fmt::format("{} threads, without {}", count, disabled));
      const auto actual = RunTwice(model, Options(low, NumericMode::kExact, count), disabled);
      for (std::size_t h = 0; h < expected.size(); ++h) ExpectSameBits(expected[h], actual[h]);
    }
  });
}

// Fast plans round less often: in float32 networks only the casts that stand in the graph, in bfloat16 everywhere.
TEST_F(FusedNetworks, FastPlansStayWithinBounds) {
  ForEach([&](const TestModel& model, bool low, int threads, const std::string& some) {
    SCOPED_TRACE("without " + some);
    const auto expected = RunTwice(model, Options(false, NumericMode::kExact, 1), AllPasses());
    const auto actual = RunTwice(model, Options(low, NumericMode::kFast, threads), some);
    for (std::size_t h = 0; h < expected.size(); ++h) EXPECT_LT(Distance(expected[h], actual[h]), 0.1);
  });
}

}  // namespace
}  // namespace amp::onednn
