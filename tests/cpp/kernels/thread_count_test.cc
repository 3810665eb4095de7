#include "kernels/threads/thread_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace amp::kernels {
namespace {

namespace fs = std::filesystem;

class Quota : public ::testing::Test {
 protected:
  Quota() { fs::create_directories(root_); }
  ~Quota() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  double Of(const std::string& membership) const { return QuotaCpus(membership, root_.string()); }

  fs::path root_ = fs::path(::testing::TempDir()) / ("amp_cgroup_" + std::to_string(getpid()));
};

TEST_F(Quota, NoneWithoutFiles) {
  EXPECT_TRUE(std::isinf(Of("0::/\n")));
  EXPECT_TRUE(std::isinf(Of("")));
  EXPECT_TRUE(std::isinf(Of("damaged")));
  EXPECT_TRUE(std::isinf(Of("0::no path")));
}

TEST_F(Quota, Version2) {
  Write("service/cpu.max", "50000 100000\n");
  EXPECT_EQ(Of("0::/service\n"), 0.5);
  EXPECT_EQ(Of("0::/service/worker\n"), 0.5);  // of the one around it
  Write("service/worker/cpu.max", "max 100000\n");
  EXPECT_EQ(Of("0::/service/worker\n"), 0.5);
  Write("cpu.max", "25000 100000\n");  // of a container, in which the path is hidden
  EXPECT_EQ(Of("0::/\n"), 0.25);
  EXPECT_EQ(Of("0::/service/worker\n"), 0.25);
}

TEST_F(Quota, Version1) {
  Write("cpu/docker/x/cpu.cfs_quota_us", "300000\n");
  Write("cpu/docker/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Of("5:memory:/docker/y\n4:cpu,cpuacct:/docker/x\n"), 3);
  EXPECT_TRUE(std::isinf(Of("4:cpuacct:/docker/x\n")));
  Write("cpu/docker/x/cpu.cfs_quota_us", "-1\n");
  EXPECT_TRUE(std::isinf(Of("4:cpu,cpuacct:/docker/x\n")));
}

TEST_F(Quota, DamagedFilesSetNoLimit) {
  for (const char* text : {"", "no number", "100000", "0 0", "100000 0", "-5 100000", "1e999 1"}) {
    Write("cpu.max", text);
    EXPECT_GT(Of("0::/\n"), 0) << text;
  }
}

// On a thread of its own: masks and the environment are put back.
TEST(ThreadCount, FollowsTheAffinityMask) {
  std::thread([] {
    cpu_set_t all = CallersCpus(), one;
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    }
    EXPECT_LE(AvailableCpus(), CPU_COUNT(&all));
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(AvailableCpus(), 1);
  }).join();
}

TEST(ThreadCount, TheEnvironmentComesFirst) {
  const char* before = std::getenv("OMP_NUM_THREADS");
  const std::string saved = before != nullptr ? before : "";
  const auto with = [](const char* text) {
    setenv("OMP_NUM_THREADS", text, 1);
    return DefaultThreads();
  };
  EXPECT_EQ(with("7"), 7);
  EXPECT_EQ(with("4,2"), 4);
  EXPECT_EQ(with("999999"), 1024);
  for (const char* text : {"", "0", "-3", "many"}) EXPECT_EQ(with(text), AvailableCpus()) << text;
  before != nullptr ? setenv("OMP_NUM_THREADS", saved.c_str(), 1) : unsetenv("OMP_NUM_THREADS");
}

}  // namespace
}  // namespace amp::kernels
