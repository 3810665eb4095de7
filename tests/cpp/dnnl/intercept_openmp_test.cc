// oneDNN's parallel regions run on our team inside of a ThreadScope, and where they always ran outside.
#include "dnnl/intercept_openmp.h"

#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dnnl/models.h"
#include "kernels/threads/parallel.h"

namespace amp::onednn {
namespace {

using namespace testing;

// The threads of this process by name.
std::map<std::string, int> Threads() {
  std::map<std::string, int> names;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* task = readdir(tasks)) {
    std::string name;
    std::ifstream("/proc/self/task/" + std::string(task->d_name) + "/comm") >> name;
    if (!name.empty()) ++names[name];
  }
  closedir(tasks);
  return names;
}

TEST(InterceptOpenMp, KnowsTheEntryPointsOfThisOneDnn) { EXPECT_TRUE(InterceptOpenMp()); }

// A convolution that is worth several threads starts helpers of ours, and none of OpenMP's.
TEST(InterceptOpenMp, RunsRegionsOnOurThreads) {
  TestModel m;
  m.symbol = Op("Convolution", "conv", {Var("x")}, {{"num_filter", "64"}, {"kernel", "(3, 3)"}});
  m.params.args["conv_weight"] = Random({64, 64, 3, 3}, 1);
  m.params.args["conv_bias"] = Random({64}, 2);
  m.types["x"] = F32({1, 64, 32, 32});
  const auto before = Threads();
  RunOnce(m, On(Backend::kOneDnn, 5));
  auto after = Threads();
  EXPECT_GE(after["amp-helper"], 4);
  after.erase("amp-helper");
  for (const auto& [name, count] : after) {
    EXPECT_EQ(count, before.contains(name) ? before.at(name) : 0) << name;
  }
}

// Products over few rows split their sums among threads, which meet at barriers; also where no helper attends.
TEST(InterceptOpenMp, RegionsWithBarriersEndOnAnyNumberOfThreads) {
  TestModel m;
  m.symbol = Op("dot", "dot", {Var("x"), Var("y")}, {{"transpose_a", "True"}});
  m.types["x"] = F32({4096, 33});
  m.types["y"] = F32({4096, 65});
  BindOptions one = On(Backend::kOneDnn, 1);
  const NDArray expected = RunOnce(m, one)[0];
  for (const int threads : {2, 3, 8}) {
    EXPECT_LT(Distance(expected, RunOnce(m, On(Backend::kOneDnn, threads))[0]), kFloatTolerance) << threads;
  }
}

// What GNU's OpenMP library offers to everybody else in the process.
struct OpenMp {
  OpenMp() : library(dlopen("libgomp.so.1", RTLD_NOW)) {
    Find("GOMP_parallel", &parallel);
    Find("omp_get_num_threads", &get_num_threads);
    Find("omp_set_num_threads", &set_num_threads);
  }
  template <class F>
  void Find(const char* name, F** function) {
    *function = library != nullptr ? reinterpret_cast<F*>(dlsym(library, name)) : nullptr;
  }

  void* library;
  void (*parallel)(void (*)(void*), void*, unsigned, unsigned) = nullptr;
  int (*get_num_threads)() = nullptr;
  void (*set_num_threads)(int) = nullptr;
};

struct Seen {
  const OpenMp& openmp;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  int in_ours = 0, wrong_counts = 0;

  static void Look(void* data) {
    auto& seen = *static_cast<Seen*>(data);
    const std::lock_guard lock(seen.mutex);
    seen.threads.insert(std::this_thread::get_id());
    seen.in_ours += kernels::InRegion();
    seen.wrong_counts += seen.openmp.get_num_threads() != 3;
  }
};

TEST(InterceptOpenMp, OthersKeepTheirOpenMpInsideOfAScope) {
  const OpenMp openmp;
  ASSERT_NE(openmp.parallel, nullptr);
  ASSERT_TRUE(InterceptOpenMp());
  const kernels::ThreadScope scope(2);
  RunOnce(SmallNet(), On(Backend::kOneDnn, 2));
  Seen seen{openmp, {}, {}};
  openmp.parallel(Seen::Look, &seen, 3, 0);
  EXPECT_EQ(seen.threads.size(), 3U);
  EXPECT_EQ(seen.in_ours, 0);
  EXPECT_EQ(seen.wrong_counts, 0);
}

// Somebody else in the process who uses the same oneDNN: its regions stay with OpenMP.
TEST(InterceptOpenMp, OneDnnOutsideOfAScopeRunsOnOpenMp) {
  const OpenMp openmp;
  ASSERT_NE(openmp.set_num_threads, nullptr);
  ASSERT_TRUE(InterceptOpenMp());
  openmp.set_num_threads(4);
  constexpr dnnl_dim_t kCount = 1 << 22;
  std::vector<float> data(kCount, -1.0F);
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const dnnl::memory::desc desc({kCount}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a);
  dnnl::memory memory(desc, engine, data.data());
  const dnnl::eltwise_forward relu(
      {engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::eltwise_relu, desc, desc, 0.0F});
  const int before = Threads()["amp-helper"];
  dnnl::stream stream(engine);
  relu.execute(stream, {{DNNL_ARG_SRC, memory}, {DNNL_ARG_DST, memory}});
  stream.wait();
  EXPECT_EQ(std::count(data.begin(), data.end(), 0.0F), kCount);
  EXPECT_EQ(Threads()["amp-helper"], before);
}

}  // namespace
}  // namespace amp::onednn
