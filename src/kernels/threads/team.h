// Threads that compute the parts of a region together: those of oneDNN's parallel regions and of our own kernels.
//
// Each part is computed exactly once. The caller computes part 0 and then those that no thread has begun, so a region
// ends although a helper does not run at the moment. Only a part that was begun is waited for: with spinning at first,
// then, if another program keeps the helper from its CPU, by lending it the caller's. A thread that has nothing to do
// spins for a moment and then sleeps. Helpers compute with the caller's float mode. docs/threads.md has the
// measurements behind this.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "kernels/base/float_mode.h"

namespace amp::kernels {

using PartFunction = void (*)(void* context);

class Team {
 public:
  // `size` threads, the caller's among them. The others live as long as the process, and so does the team. Null where
  // the system starts no more threads.
  static Team* Start(int size);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  // Lets the first `attending` threads beside the caller's compute parts. The others sleep: a region needs them only if
  // its parts wait for each other. They run on the CPUs that the caller may use.
  void Attend(int attending, const cpu_set_t& cpus);

  // A region of 2 to size() parts. The caller computes part 0 between these two.
  void Begin(int parts, PartFunction function, void* context);
  void End();

  // Called by every part of a region: returns when all have called it.
  void Barrier();

 private:
  explicit Team(int size);
  bool StartHelpers();

  enum State : std::uint32_t { kPosted, kTaken, kAwaited, kDone, kStates };  // the low two bits of a part's state
  struct alignas(128) Part {
    std::atomic<std::uint32_t> state{kDone};
    std::atomic<int> taker{0};  // the helper that took it last
  };
  enum Sleep : std::uint32_t { kAwake, kDozes, kSleeps };  // who dozes looks now and then whether a region is stuck
  struct alignas(128) Helper {
    std::atomic<std::uint32_t> sleep{kAwake};
    pthread_t thread{};
  };

  void Help(int own);
  void WaitForWork(int own);
  bool IsPosted(int part) const { return parts_[part].state.load() % kStates == kPosted; }
  void TryCompute(int part, int taker);
  void AwaitDone(int part);
  void LeaveCallersCpu();
  void Wake(int helper);
  bool MayTake(int part, int helper) const;
  bool HasWork(int helper) const;
  bool AnyPosted() const;

  const int size_;
  const std::unique_ptr<Part[]> parts_;      // by part; that of part 0 is not used
  const std::unique_ptr<Helper[]> helpers_;  // by part
  std::mutex cpus_mutex_;
  cpu_set_t cpus_{};
  alignas(128) std::atomic<int> attending_{0};
  std::atomic<int> callers_cpu_{-1};
  std::atomic<bool> any_part_{false};  // of the region at hand: whoever is free may take any part
  // The region at hand.
  PartFunction function_ = nullptr;
  void* context_ = nullptr;
  int num_parts_ = 0;
  FloatMode mode_ = FloatMode::KeepsDenormals();
  std::atomic<std::uint32_t> sequence_{0};  // changes with each
  alignas(128) std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> passed_{0};  // barriers
};

// Which part the calling thread computes, of how many; of nested regions the innermost. Part 0 of 1 outside of regions.
struct PartPlace {
  int part = 0;
  int parts = 1;
  Team* team = nullptr;  // none where the region runs on one thread
};
PartPlace CurrentPlace();
// How many regions the calling thread is inside of; each is nested in the one before.
int RegionDepth();
constexpr int kMaxNested = 16;  // oneDNN and our kernels nest two at most
inline bool InRegion() { return RegionDepth() != 0; }
void EnterRegion(const PartPlace& place);
void LeaveRegion();

}  // namespace amp::kernels
