// Optimised plans against plans of the graph as it is, over random networks.
#include <gtest/gtest.h>

#include <cstdlib>

#include "dnnl/random_networks.h"
#include "passes/random_models.h"

namespace amp::onednn {
namespace {

using namespace testing;

constexpr std::uint32_t kSeed = 31000;

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
  for (const std::string_view pass : kOptionalPasses) {
    if (everything || (*random)() % 2 == 0) names += std::string(pass) + ",";
  }
  return names;
}

std::vector<NDArray> RunTwice(const Model& model, const BindOptions& options, const std::string& disabled) {
  const DisabledPasses passes(disabled);
  const auto executor = Bind(model, options);
  executor->Run(InputsFor(*executor));
  return executor->Run(InputsFor(*executor));  // nothing of the first run may be left in the second
}

// The same model, converted or not, on `threads` threads.
BindOptions Options(bool low, NumericMode mode, int threads) {
  BindOptions options = low ? Low() : On(Backend::kOneDnn);
  options.mode = mode;
  options.num_threads = threads;
  return options;
}

Model Network(int i) { return RandomNetworkMaker(kSeed + static_cast<std::uint32_t>(i)).Make(4 + i % 17); }

TEST(FusedNetworks, ExactPlansHaveTheSameBitsHoweverTheyAreMade) {
  if (!CpuHasNativeBF16()) GTEST_SKIP() << "the CPU has no bfloat16 arithmetic";
  std::mt19937 random(kSeed);
  for (int i = 0; i < NumNetworks(); ++i) {
    SCOPED_TRACE(fmt::format("seed {} + {}", kSeed, i));
    const Model model = Network(i);
    const bool low = i % 2 == 1;
    const auto expected = RunTwice(model, Options(low, NumericMode::kExact, 1), SomePasses(&random, true));
    const std::string some = SomePasses(&random, false);
    const std::pair<int, std::string> plans[] = {{1, ""}, {2, ""}, {1 + i / 2 % 2, some}};
    for (const auto& [threads, disabled] : plans) {
      SCOPED_TRACE(fmt::format("{} threads, without {}", threads, disabled));
      const auto actual = RunTwice(model, Options(low, NumericMode::kExact, threads), disabled);
      for (std::size_t h = 0; h < expected.size(); ++h) ExpectSameBits(expected[h], actual[h]);
    }
    if (::testing::Test::HasFailure()) FAIL() << amp::testing::Text(model.symbol);
  }
}

// Fast plans round less often: in float32 networks only the casts that stand in the graph, in bfloat16 everywhere.
TEST(FusedNetworks, FastPlansStayWithinBounds) {
  if (!CpuHasNativeBF16()) GTEST_SKIP() << "the CPU has no bfloat16 arithmetic";
  std::mt19937 random(kSeed);
  for (int i = 0; i < NumNetworks(); ++i) {
    SCOPED_TRACE(fmt::format("seed {} + {}", kSeed, i));
    const Model model = Network(i);
    const bool low = i % 2 == 1;
    const auto expected = RunTwice(model, Options(false, NumericMode::kExact, 1), SomePasses(&random, true));
    const std::string disabled = SomePasses(&random, false);
    SCOPED_TRACE("without " + disabled);
    const auto actual = RunTwice(model, Options(low, NumericMode::kFast, 1 + i / 2 % 2), disabled);
    for (std::size_t h = 0; h < expected.size(); ++h) EXPECT_LT(Distance(expected[h], actual[h]), 0.1);
    if (::testing::Test::HasFailure()) FAIL() << amp::testing::Text(model.symbol);
  }
}

}  // namespace
}  // namespace amp::onednn
