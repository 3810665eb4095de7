// fork() after threads have run: the child gets a clear error or a session of one thread, never a hang.
#include "program/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "dnnl/models.h"

namespace amp::onednn {
namespace {

using namespace testing;

// Runs `body` in a child; what it returns is the child's exit status. A child that hangs is killed by its alarm.
int StatusOfChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    int status = 99;
    try {
      status = body();
    } catch (const std::exception& error) {
      fprintf(stderr, "child: %s\n", error.what());
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Fork, TheChildBuildsItsOwnExecutorAndTheParentsRefuses) {
  const TestModel m = SmallNet();
  const auto parents = Bind(m, On(Backend::kOneDnn, 2));
  const NDArray expected = RunOnce(*parents)[0];
  const int status = StatusOfChild([&] {
    if (!::amp::testing::Contains(ErrorOf<Error>([&] { RunOnce(*parents); }), "forked")) return 1;
    const auto own = Bind(m, On(Backend::kOneDnn, 2));
    if (own->summary().num_threads != 1) return 2;
    return Distance(expected, RunOnce(*own)[0]) < kFloatTolerance ? 0 : 3;
  });
  EXPECT_EQ(status, 0);
  ExpectSameBits(RunOnce(*parents)[0], expected);  // the parent goes on
}

TEST(Fork, ConversionAndReferenceKernelsWorkInTheChild) {
  TestModel m;  // large enough for casts to use threads
  m.symbol = Op("FullyConnected", "fc", {Var("x")}, {{"num_hidden", "1024"}, {"no_bias", "True"}});
  m.params.args["fc_weight"] = NDArray::Zeros(DType::kFloat32, {1024, 2048});
  m.types["x"] = F32({1, 2048});
  RunOnce(m, On(Backend::kOneDnn, 2));
  EXPECT_EQ(StatusOfChild([&] {
              RunOnce(m, Low());
              ConvertModel(m.symbol, m.params, m.types, {DType::kBFloat16, true});
              RunOnce(m, On(Backend::kReference, 2));
              return 0;
            }),
            0);
}

TEST(Fork, CastsStartThreadsAndDoWithoutThemToo) {
  const NDArray large = NDArray::Zeros(DType::kFloat32, {4 << 20});
  const NDArray low = CastArray(large, DType::kBFloat16);  // no executor was ever run
  EXPECT_EQ(StatusOfChild([&] {
              RunOnce(ReluChain(1, {1 << 20}), On(Backend::kOneDnn, 2));
              ExpectSameBits(CastArray(low, DType::kFloat32), large);
              return 0;
            }),
            0);
}

TEST(Fork, AnExecutorOfOneThreadRunsOn) {
  const auto executor = Bind(SmallNet(), On(Backend::kOneDnn, 1));
  const NDArray expected = RunOnce(*executor)[0];
  EXPECT_EQ(StatusOfChild([&] { return Distance(expected, RunOnce(*executor)[0]) == 0 ? 0 : 1; }), 0);
}

// oneDNN caches primitives by thread count. Products of exact plans are made for one thread, and need less scratch
// memory than those of fast plans with the same shapes.
TEST(Threads, AnExactPlanGetsNoPrimitiveOfAFastOne) {
  TestModel m;
  m.symbol = Op("FullyConnected", "fc", {Var("x")}, {{"num_hidden", "80"}, {"no_bias", "True"}});
  m.params.args["fc_weight"] = Random({80, 2048}, 1);
  m.types["x"] = F32({300, 2048});
  BindOptions one = On(Backend::kOneDnn, 1), two = On(Backend::kOneDnn, 2);
  one.mode = two.mode = NumericMode::kExact;
  const std::vector<NDArray> expected = RunOnce(m, one);
  RunOnce(m, On(Backend::kOneDnn, 2));
  ExpectSameBits(RunOnce(m, two)[0], expected[0]);
}

}  // namespace
}  // namespace amp::onednn
