#include "kernels/threads/team.h"

#include <pthread.h>
#include <signal.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <system_error>
#include <thread>
#include <utility>

#include "kernels/threads/fork.h"
#include "kernels/threads/futex.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace amp::kernels {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// A thread that waits spins for as long as a sleep and a wake-up take, about.
constexpr microseconds kSpin{100};
// How often a caller that waits looks whether the helper that it waits for has a CPU.
constexpr microseconds kLook{20};
constexpr std::int64_t kRunsNanoseconds = 5'000;  // of a look: enough to say that it has
// Helpers that are not needed look whether a region is stuck after so long, and so often before they sleep for good.
constexpr timespec kDoze{0, 50'000'000};
constexpr int kDozesBeforeSleep = 20;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Spins until `ready` or for `limit`; whether it was ready. The clock is read now and then only: it costs more than a
// look at a word.
template <class Ready>
bool SpinFor(microseconds limit, Ready&& ready) {
  constexpr int kLooksPerClock = 64;
  Clock::time_point end{};
  for (;;) {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (ready()) return true;
      Pause();
    }
    const Clock::time_point now = Clock::now();
    if (end == Clock::time_point{}) end = now + limit;
    if (now >= end) return false;
  }
}

// CPU time that the thread has had.
std::int64_t CpuNanoseconds(pthread_t thread) {
  clockid_t clock;
  timespec time{};
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

// The helper has begun a part, and another program has its CPU now. It goes on here, where the caller is about to
// sleep, and leaves when the part is done (LeaveCallersCpu). The scheduler alone would take some milliseconds.
void LendCpu(pthread_t helper) {
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  pthread_setaffinity_np(helper, sizeof(here), &here);
}

// The regions that the calling thread is in, the innermost last.
struct Places {
  std::array<PartPlace, kMaxNested> places;
  int depth = 0;
};
constinit thread_local Places thread_places;

}  // namespace

PartPlace CurrentPlace() {
  const Places& all = thread_places;
  return all.depth == 0 ? PartPlace{} : all.places[all.depth - 1];
}

int RegionDepth() { return thread_places.depth; }

void EnterRegion(const PartPlace& place) {
  Places& all = thread_places;
  if (all.depth == kMaxNested) std::abort();  // endless recursion
  all.places[all.depth++] = place;
}

void LeaveRegion() { --thread_places.depth; }

Team::Team(int size) : size_(size), parts_(std::make_unique<Part[]>(size)), helpers_(std::make_unique<Helper[]>(size)) {
  for (int i = 1; i < size; ++i) parts_[i].taker = i;
}

Team* Team::Start(int size) {
  NoteThreadsStarted();
  Team* team = new Team(size);
  sigset_t all, before;  // signals are for the program's own threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool is_complete = team->StartHelpers();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return is_complete ? team : nullptr;  // helpers that were started keep the memory
}

bool Team::StartHelpers() {
  try {
    for (int i = 1; i < size_; ++i) {
      std::thread thread([this, i] { Help(i); });
      helpers_[i].thread = thread.native_handle();
      pthread_setname_np(helpers_[i].thread, "amp-helper");
      thread.detach();
    }
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void Team::Attend(int attending, const cpu_set_t& cpus) {
  if (!CPU_EQUAL(&cpus, &cpus_)) {
    for (int i = 1; i < size_; ++i) pthread_setaffinity_np(helpers_[i].thread, sizeof(cpus), &cpus);
    const std::lock_guard lock(cpus_mutex_);
    cpus_ = cpus;
  }
  attending_ = attending;
}

void Team::Begin(int parts, PartFunction function, void* context) {
  function_ = function;
  context_ = context;
  num_parts_ = parts;
  mode_ = FloatMode::Current();
  const int cpu = sched_getcpu();
  if (cpu != callers_cpu_.load(std::memory_order_relaxed)) callers_cpu_.store(cpu, std::memory_order_relaxed);
  any_part_ = false;
  const std::uint32_t sequence = sequence_ += kStates;
  for (int i = 1; i < parts; ++i) parts_[i].state.exchange(sequence + kPosted);
  const int attending = attending_.load(std::memory_order_relaxed);
  for (int i = 1; i < size_; ++i) {
    const std::uint32_t sleep = helpers_[i].sleep.load();
    if (sleep == kSleeps || (sleep == kDozes && i <= attending && i < parts)) Wake(i);
  }
}

void Team::End() {
  for (int i = num_parts_ - 1; i > 0; --i) TryCompute(i, 0);
  for (int i = 1; i < num_parts_; ++i) AwaitDone(i);
}

void Team::TryCompute(int part, int taker) {
  std::atomic<std::uint32_t>& state = parts_[part].state;
  std::uint32_t posted = state.load(std::memory_order_acquire);
  if (posted % kStates != kPosted) return;
  const std::uint32_t region = posted - kPosted;
  if (!state.compare_exchange_strong(posted, region + kTaken)) return;
  if (taker != 0) parts_[part].taker.store(taker, std::memory_order_relaxed);
  EnterRegion({part, num_parts_, this});
  {
    const FloatModeScope mode(mode_);
    function_(context_);
  }
  LeaveRegion();
  if (state.exchange(region + kDone) == region + kAwaited) FutexWake(state, 1);
}

// Waits for a part that a helper has begun.
void Team::AwaitDone(int part) {
  std::atomic<std::uint32_t>& state = parts_[part].state;
  const std::uint32_t region = sequence_, done = region + kDone, awaited = region + kAwaited;
  const auto is_done = [&] { return state.load(std::memory_order_acquire) == done; };
  if (SpinFor(kLook, is_done)) return;
  for (microseconds waited = kLook; waited < kSpin; waited += kLook) {
    const pthread_t helper = helpers_[parts_[part].taker.load(std::memory_order_relaxed)].thread;
    const std::int64_t before = CpuNanoseconds(helper);
    if (SpinFor(kLook, is_done)) return;
    if (CpuNanoseconds(helper) - before >= kRunsNanoseconds) continue;
    LendCpu(helper);
    break;
  }
  std::uint32_t taken = region + kTaken;
  state.compare_exchange_strong(taken, awaited);
  while (!is_done()) FutexWait(state, awaited);
}

void Team::Barrier() {
  const int parts = CurrentPlace().parts;
  const std::uint32_t passed = passed_.load();
  if (arrived_.fetch_add(1) + 1 == static_cast<std::uint32_t>(parts)) {
    arrived_ = 0;
    passed_.fetch_add(1);
    FutexWake(passed_, parts);
    return;
  }
  any_part_ = true;  // one may not have been begun yet
  for (int i = 1; i < size_; ++i) Wake(i);
  const auto is_open = [&] { return passed_.load(std::memory_order_acquire) != passed; };
  if (SpinFor(kSpin, is_open)) return;
  while (!is_open()) FutexWait(passed_, passed);
}

void Team::Wake(int helper) {
  std::atomic<std::uint32_t>& sleep = helpers_[helper].sleep;
  if (sleep.exchange(kAwake) != kAwake) FutexWake(sleep, 1);
}

void Team::Help(int own) {
  for (;;) {
    WaitForWork(own);
    LeaveCallersCpu();
    for (int k = 0; k < size_ - 1; ++k) {
      const int part = 1 + (own - 1 + k) % (size_ - 1);
      if (MayTake(part, own)) TryCompute(part, own);
    }
  }
}

// A helper's own part, and those of helpers that do not attend. Others are left to theirs, except where a region does
// not go on: if its parts wait for each other, each needs a thread.
bool Team::MayTake(int part, int helper) const {
  return any_part_ || part > attending_ || (part == helper && helper <= attending_);
}

bool Team::AnyPosted() const {
  for (int part = 1; part < size_; ++part) {
    if (IsPosted(part)) return true;
  }
  return false;
}

bool Team::HasWork(int helper) const { return any_part_ ? AnyPosted() : helper <= attending_ && IsPosted(helper); }

// Two threads of a region on one CPU take turns of milliseconds, and the scheduler can leave them there for long.
void Team::LeaveCallersCpu() {
  const int cpu = callers_cpu_.load(std::memory_order_relaxed);
  if (cpu < 0 || sched_getcpu() != cpu) return;
  cpu_set_t others;
  {
    const std::lock_guard lock(cpus_mutex_);
    others = cpus_;
  }
  CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) != 0) sched_setaffinity(0, sizeof(others), &others);
}

// Returns when there may be a part to compute.
void Team::WaitForWork(int own) {
  LeaveCallersCpu();
  const auto attends = [&] { return own <= attending_; };
  if (attends() && SpinFor(kSpin, [&] { return IsPosted(own) || !attends(); }) && IsPosted(own)) return;
  std::atomic<std::uint32_t>& sleep = helpers_[own].sleep;
  std::uint32_t seen = sequence_;
  for (int unchanged = 0;;) {
    const bool dozes = unchanged < kDozesBeforeSleep;
    const std::uint32_t depth = dozes ? kDozes : kSleeps;
    sleep = depth;
    if (!HasWork(own)) FutexWait(sleep, depth, dozes ? &kDoze : nullptr);
    const bool was_woken = sleep.exchange(kAwake) == kAwake;
    if (HasWork(own)) return;
    const std::uint32_t before = std::exchange(seen, sequence_.load());
    unchanged = seen == before && !was_woken ? unchanged + 1 : 0;
    if (unchanged != 0 && AnyPosted()) any_part_ = true;  // parts wait for each other
  }
}

}  // namespace amp::kernels
