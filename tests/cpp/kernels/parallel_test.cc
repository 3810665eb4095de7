#include "kernels/threads/parallel.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace amp::kernels {
namespace {

// How often each of `count` indices is visited.
std::vector<int> Visits(std::int64_t count, std::int64_t grain) {
  std::vector<std::atomic<int>> visits(count);
  ParallelFor(count, grain, [&](std::int64_t i) { ++visits[i]; });
  return {visits.begin(), visits.end()};
}

TEST(ParallelFor, VisitsEachIndexOnce) {
  for (const int threads : {1, 2, 3, 7, 100}) {
    const ThreadScope scope(threads);
    for (const std::int64_t count : {0, 1, 2, 3, 63, 64, 65, 1000, 12345}) {
      for (const std::int64_t grain : {1, 10, 5000}) {
        ASSERT_EQ(Visits(count, grain), std::vector<int>(count, 1)) << threads << ", " << count << ", " << grain;
      }
    }
  }
  EXPECT_EQ(Visits(1000, 1), std::vector<int>(1000, 1));  // without a scope
}

TEST(ParallelFor, UsesNoThreadForLessThanItsGrain) {
  const ThreadScope scope(4);
  const auto caller = std::this_thread::get_id();
  ParallelFor(10, 10, [&](std::int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(ParallelFor, ThrowsWhatABodyThrows) {
  const ThreadScope scope(3);
  std::atomic<int> calls{0};
  const auto run = [&] {
    ParallelFor(1 << 20, 1, [&](std::int64_t i) {
      ++calls;
      if (i % 1000 == 7) throw std::runtime_error("seven");
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_LT(calls, 1 << 20);
  EXPECT_EQ(Visits(1000, 1), std::vector<int>(1000, 1));  // the team goes on
}

TEST(ParallelFor, IsALoopOfOneThreadInsideOfARegion) {
  const ThreadScope scope(3);
  std::atomic<int> sum{0}, elsewhere{0};
  ParallelFor(12, 1, [&](std::int64_t) {
    EXPECT_EQ(NumThreads(), 1);
    const auto thread = std::this_thread::get_id();
    ParallelFor(10, 1, [&](std::int64_t) {
      ++sum;
      elsewhere += std::this_thread::get_id() != thread;
    });
  });
  EXPECT_EQ(sum, 120);
  EXPECT_EQ(elsewhere, 0);
}

TEST(ThreadScope, TheInnermostCounts) {
  const ThreadScope outer(3);
  EXPECT_EQ(NumThreads(), 3);
  {
    const ThreadScope inner(1);
    EXPECT_EQ(NumThreads(), 1);
  }
  EXPECT_EQ(NumThreads(), 3);
}

TEST(ThreadScope, AScopeOfTheSameCountHasTheSameTeam) {
  ThreadScope outer(2);
  Team* inner_team = nullptr;
  {
    ThreadScope inner(2);
    inner_team = inner.team();
  }
  EXPECT_EQ(outer.team(), inner_team);
}

TEST(ThreadScope, TeamsAreUsedAgain) {
  std::set<const Team*> teams;
  for (int i = 0; i < 100; ++i) teams.insert(ThreadScope(6).team());
  EXPECT_EQ(teams.size(), 1U);
}

// More callers than CPUs, each with a team: all end, each with its own result.
TEST(ThreadScope, SeveralCallersAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 200; ++round) {
        const ThreadScope scope(2 + c % 2);
        std::vector<std::int64_t> squares(100);
        ParallelFor(100, 1, [&](std::int64_t i) { squares[i] = i * i + c; });
        for (std::int64_t i = 0; i < 100; ++i) wrong += squares[i] != i * i + c;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

// The system starts no more threads when memory for their stacks is not to be had.
TEST(ThreadScope, GoesOnWithTheCallersThreadIfNoneCanBeStarted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    std::ifstream pages("/proc/self/statm");
    rlim_t used = 0;
    pages >> used;
    const rlimit limit{(used + 256) * 4096, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    ThreadScope scope(9);
    const bool has_no_team = scope.team() == nullptr;
    std::array<int, 1000> visits{};
    ParallelFor(1000, 1, [&](std::int64_t i) { ++visits[i]; });
    const bool visited = std::count(visits.begin(), visits.end(), 1) == 1000;
    std::_Exit(has_no_team && visited ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace amp::kernels
