// Runs that keep what their gradients read.
#include "runtime/recorder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "dnnl/models.h"

namespace amp::onednn {
namespace {

using namespace testing;

OperatorCall Call(const std::string& op, std::size_t inputs, AttrMap attrs = {}) {
  return {op, std::move(attrs), inputs, {}};
}

TEST(Recorder, GradientsAreThoseOfTheRun) {
  Recorder recorder(8);
  const NDArray x = Random({2, 3}, 1), y = Random({2, 3}, 2), g = Random({2, 3}, 3);
  const auto run = recorder.Run(Call("elemwise_mul", 2), {x, y}, {true, true}, true, {});
  const RecordedRun::Result result = run->Backward({g}, {true, false});
  ASSERT_TRUE(result.gradients[0].has_value());
  EXPECT_FALSE(result.gradients[1].has_value());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    EXPECT_FLOAT_EQ(At(run->Outputs()[0], i), At(x, i) * At(y, i));
    EXPECT_FLOAT_EQ(At(*result.gradients[0], i), At(g, i) * At(y, i));
  }
}

TEST(Recorder, RunsOfOneKindShareTheirGraphAndNotTheirArrays) {
  Recorder recorder(8);
  const NDArray g = Random({4}, 9);
  std::vector<std::shared_ptr<RecordedRun>> runs;
  std::vector<NDArray> inputs;
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    inputs.push_back(Random({4}, seed));
    runs.push_back(recorder.Run(Call("sin", 1), {inputs.back()}, {true}, true, {}));
  }
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const NDArray gradient = *runs[k]->Backward({g}, {true}).gradients[0];
    for (std::int64_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(At(gradient, i), At(g, i) * std::cos(At(inputs[k], i)), 1e-5);
    }
  }
}

TEST(Recorder, OutputsWithoutGradientCount) {
  Recorder recorder(8);
  const NDArray x = Random({2, 4}, 1), g = Random({2, 2}, 2);
  const auto run = recorder.Run(Call("SliceChannel", 1, {{"num_outputs", "2"}}), {x}, {true}, true, {});
  const NDArray gradient = *run->Backward({NDArray(), g}, {true}).gradients[0];
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(At(gradient, row * 4 + i), i < 2 ? 0 : At(g, row * 2 + i - 2));
    }
  }
}

TEST(Recorder, TheKeyDecidesWhatIsDropped) {
  Recorder recorder(8);
  const NDArray x = Random({1000}, 1);
  const auto run = [&](RandomKey key) {
    return recorder.Run(Call("Dropout", 1), {x}, {true}, true, key)->Outputs()[0];
  };
  ExpectSameBits(run({7, 1}), run({7, 1}));
  EXPECT_GT(Distance(run({7, 1}), run({7, 2})), 0.5);
  EXPECT_GT(Distance(run({7, 1}), run({8, 1})), 0.5);
  ExpectSameBits(recorder.Run(Call("Dropout", 1), {x}, {true}, false, {7, 1})->Outputs()[0], x);
}

TEST(Recorder, DerivativesCanBeDifferentiated) {
  Recorder recorder(8);
  const NDArray x = Random({4}, 1), g = Random({4}, 2);
  const auto run = recorder.Run(Call("sin", 1), {x}, {true}, true, {});
  const auto first = run->Derive({g}, {true}, {true, false, false});
  ASSERT_NE(first.run, nullptr);
  const NDArray second = *first.run->Backward({g}, {true, false, false}).gradients[0];
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(At(first.run->Outputs()[*first.gradients[0]], i), At(g, i) * std::cos(At(x, i)), 1e-5);
    EXPECT_NEAR(At(second, i), -At(g, i) * At(g, i) * std::sin(At(x, i)), 1e-5);
  }
}

TEST(Recorder, GradientsOfAnotherTypeAreRefused) {
  Recorder recorder(8);
  const auto run = recorder.Run(Call("sin", 1), {Random({4}, 1)}, {true}, true, {});
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { run->Backward({Random({5}, 1)}, {true}); }),
                  "the gradient of output 0: expected float32[4], got float32[5]");
}

TEST(Recorder, ThreadsMayShareOne) {
  Recorder recorder(2);  // fewer than there are kinds of calls
  const NDArray x = Random({64}, 1), g = Random({64}, 2);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const char* op : {"sin", "cos", "exp", "sin", "tanh", "exp"}) {
        const auto run = recorder.Run(Call(op, 1), {x}, {true}, true, {});
        wrong += !run->Backward({g}, {true}).gradients[0].has_value();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(RecentlyUsed, ForgetsWhatWasNotUsedForLong) {
  RecentlyUsed<int> kept(2);
  int made = 0;
  const auto get = [&](const std::string& key) {
    return *kept.Get(key, [&] { return std::make_shared<int>(++made); });
  };
  EXPECT_EQ(get("a"), 1);
  EXPECT_EQ(get("b"), 2);
  EXPECT_EQ(get("a"), 1);
  EXPECT_EQ(get("c"), 3);  // b goes
  EXPECT_EQ(get("a"), 1);
  EXPECT_EQ(get("b"), 4);
}

}  // namespace
}  // namespace amp::onednn
