#include "kernels/threads/parallel.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "kernels/base/round_up.h"
#include "kernels/threads/fork.h"
#include "kernels/threads/thread_count.h"

namespace amp::kernels {
namespace {

thread_local ThreadScope* current_scope = nullptr;

// Teams wait here between scopes. What was used last is taken first: its threads may still be awake.
class TeamPool {
 public:
  static TeamPool& Get() {
    static auto* pool = new TeamPool;  // never destroyed: threads may end after static objects do
    return *pool;
  }

  Team* TakeTeam(int size) {
    Team* team = Find(size);
    if (team == nullptr) team = Team::Start(size);
    if (team == nullptr) return nullptr;
    const cpu_set_t cpus = CallersCpus();
    // Several teams share the CPUs. A team that gets none of its own does all its work on the caller's thread.
    const int in_use = in_use_.fetch_add(1) + 1, spare = CPU_COUNT(&cpus) - in_use;
    team->Attend(std::clamp(spare / in_use, 0, team->size() - 1), cpus);
    return team;
  }

  void Return(Team* team) {
    --in_use_;
    const std::lock_guard lock(mutex_);
    free_.push_back(team);
  }

 private:
  Team* Find(int size) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = free_.size(); i-- > 0;) {
      if (free_[i]->size() != size) continue;
      Team* team = free_[i];
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return team;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::vector<Team*> free_;
  std::atomic<int> in_use_{0};
};

void ComputePart(const PartPlace& place, PartFunction compute, void* context) {
  EnterRegion(place);
  compute(context);
  LeaveRegion();
}

}  // namespace

ThreadScope::ThreadScope(int count) : outer_(current_scope), count_(count) {
  if (outer_ != nullptr && outer_->count_ == count) team_ = outer_->team_;
  current_scope = this;
}

ThreadScope::~ThreadScope() {
  current_scope = outer_;
  if (owns_team_) TeamPool::Get().Return(team_);
}

ThreadScope* ThreadScope::Current() { return current_scope; }

Team* ThreadScope::team() {
  if (team_ == nullptr && outer_ != nullptr && outer_->count_ == count_) {
    team_ = outer_->team();
  } else if (team_ == nullptr) {
    team_ = TeamPool::Get().TakeTeam(count_);
    owns_team_ = team_ != nullptr;
  }
  return team_;
}

int NumThreads() {
  if (InRegion() || ThreadsLost()) return 1;
  return current_scope != nullptr ? current_scope->count() : DefaultThreads();
}

void RunParts(int parts, PartFunction compute, void* context) {
  if (current_scope == nullptr && !InRegion()) {
    const ThreadScope scope(NumThreads());
    return RunParts(parts, compute, context);
  }
  Team* team = parts == 1 || NumThreads() == 1 ? nullptr : current_scope->team();
  if (team == nullptr) {
    for (int part = 0; part < parts; ++part) ComputePart({part, parts, nullptr}, compute, context);
    return;
  }
  team->Begin(parts, compute, context);
  ComputePart({0, parts, team}, compute, context);
  team->End();
}

namespace internal {

SharedLoop::SharedLoop(std::int64_t count, std::int64_t grain) {
  constexpr int kChunksPerPart = 4;  // a thread that does not run delays the others by a chunk
  const std::int64_t most = CeilDiv(count, grain);
  parts_ = static_cast<int>(std::min<std::int64_t>(most, NumThreads()));
  stretches_ = std::min(parts_, kMaxStretches);
  chunk_ = std::max(grain, (count + parts_ * kChunksPerPart - 1) / (parts_ * kChunksPerPart));
  for (int s = 0; s < stretches_; ++s) {
    stretch_[s].next = count * s / stretches_;
    stretch_[s].end = count * (s + 1) / stretches_;
  }
}

bool SharedLoop::Next(std::int64_t* begin, std::int64_t* end) {
  const int first = CurrentPlace().part % stretches_;
  for (int k = 0; k < stretches_; ++k) {
    Stretch& stretch = stretch_[(first + k) % stretches_];
    if (stretch.next.load(std::memory_order_relaxed) >= stretch.end) continue;
    *begin = stretch.next.fetch_add(chunk_, std::memory_order_relaxed);
    *end = std::min(*begin + chunk_, stretch.end);
    if (*begin < stretch.end) return true;
  }
  return false;
}

void SharedLoop::Fail(std::exception_ptr error) {
  for (int s = 0; s < stretches_; ++s) stretch_[s].next = stretch_[s].end;
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

}  // namespace internal
}  // namespace amp::kernels
