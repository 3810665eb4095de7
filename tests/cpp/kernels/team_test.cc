// Regions on a team of threads: each part once, whatever the helpers do.
#include "kernels/threads/team.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "kernels/threads/parallel.h"
#include "kernels/threads/thread_count.h"

namespace amp::kernels {
namespace {

// Calls body() for each part of one region, part 0 on this thread.
void Region(Team& team, int parts, const std::function<void()>& body) {
  const auto call = [](void* context) { (*static_cast<const std::function<void()>*>(context))(); };
  team.Begin(parts, call, const_cast<std::function<void()>*>(&body));
  EnterRegion({0, parts, &team});
  body();
  LeaveRegion();
  team.End();
}

Team& TeamOf(int size) {
  static std::vector<Team*> teams(16);
  if (teams[size] == nullptr) teams[size] = Team::Start(size);
  return *teams[size];
}

// The parameters are the team's size and the number of helpers that attend.
class Teams : public ::testing::TestWithParam<std::pair<int, int>> {
 protected:
  Teams() : team_(TeamOf(GetParam().first)) { team_.Attend(GetParam().second, CallersCpus()); }
  Team& team_;
};

TEST_P(Teams, ComputeEachPartOnce) {
  for (int round = 0; round < 2000; ++round) {
    const int parts = 2 + round % (team_.size() - 1);
    std::vector<std::atomic<int>> calls(parts);
    Region(team_, parts, [&] {
      EXPECT_EQ(CurrentPlace().parts, parts);
      ++calls[CurrentPlace().part];
    });
    for (int part = 0; part < parts; ++part) ASSERT_EQ(calls[part], 1) << "part " << part << " of " << parts;
  }
  EXPECT_FALSE(InRegion());
}

// Helpers fall asleep between these regions.
TEST_P(Teams, ComputeEachPartOnceAfterAPause) {
  for (int round = 0; round < 5; ++round) {
    usleep(round * 1000);
    std::atomic<int> calls{0};
    Region(team_, team_.size(), [&] { ++calls; });
    ASSERT_EQ(calls, team_.size());
  }
}

// Also those of a team whose helpers do not attend: each part gets a thread.
TEST_P(Teams, WaitForEachOtherAtABarrier) {
  std::vector<int> written(team_.size(), -1);
  std::atomic<int> wrong{0};
  for (int round = 0; round < 200; ++round) {
    Region(team_, team_.size(), [&] {
      for (int phase = 0; phase < 3; ++phase) {
        const int mine = 3 * round + phase;
        written[CurrentPlace().part] = mine;
        team_.Barrier();
        for (const int value : written) wrong += value != mine;
        team_.Barrier();
      }
    });
  }
  EXPECT_EQ(wrong, 0);
}

// Parts wait as barriers inside of a library do: nobody is told. A helper looks by itself whether a region is stuck.
TEST_P(Teams, GiveEachPartAThreadIfPartsWaitForEachOther) {
  for (int round = 0; round < 2; ++round) {
    std::atomic<int> arrived{0};
    Region(team_, team_.size(), [&] {
      ++arrived;
      while (arrived != team_.size()) std::this_thread::yield();
    });
    EXPECT_EQ(arrived, team_.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Teams,
                         ::testing::Values(std::pair(2, 1), std::pair(2, 0), std::pair(5, 4), std::pair(5, 2),
                                           std::pair(5, 0)),
                         [](const auto& instance) {
                           return std::to_string(instance.param.first) + "ThreadsOfWhich" +
                                  std::to_string(instance.param.second) + "HelpersAttend";
                         });

// Where nobody attends, the caller does the work: a helper that would only compete with it is not woken.
TEST(Team, RunsOnTheCallersThreadIfNobodyAttends) {
  Team& team = TeamOf(5);
  team.Attend(0, CallersCpus());
  const auto caller = std::this_thread::get_id();
  std::atomic<int> elsewhere{0};
  for (int round = 0; round < 100; ++round) {
    Region(team, 5, [&] { elsewhere += std::this_thread::get_id() != caller; });
  }
  EXPECT_EQ(elsewhere, 0);
}

TEST(Team, HelpersRunOnTheCallersCpusAndTakeNoSignals) {
  cpu_set_t before = CallersCpus(), one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  Team& team = TeamOf(3);
  team.Attend(2, one);
  std::atomic<int> outside{0}, open_to_signals{0};
  const auto caller = std::this_thread::get_id();
  Region(team, 3, [&] {
    if (std::this_thread::get_id() != caller) {
      cpu_set_t mine = CallersCpus();
      CPU_AND(&mine, &mine, &one);
      outside += CPU_COUNT(&mine) != 1;
      sigset_t blocked;
      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      open_to_signals += sigismember(&blocked, SIGINT) != 1;
    }
    team.Barrier();  // a helper has to take part
  });
  EXPECT_EQ(outside, 0);
  EXPECT_EQ(open_to_signals, 0);
}

}  // namespace
}  // namespace amp::kernels
