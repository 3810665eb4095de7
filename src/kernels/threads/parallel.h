// Loops over several threads, and the number of threads of what is called.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "kernels/threads/team.h"

namespace amp::kernels {

// What the calling thread starts uses `count` threads, itself among them, until the end of the scope. A scope inside of
// a scope with the same count continues it; one inside of a region has no effect.
class ThreadScope {
 public:
  explicit ThreadScope(int count);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

  // The innermost of the calling thread, or null.
  static ThreadScope* Current();

  int count() const { return count_; }

  // The team of the scope; only for a count above 1. It is taken from the pool when it is first needed: many scopes
  // start no region. Null where the system starts no more threads.
  Team* team();

 private:
  ThreadScope* const outer_;
  const int count_;
  Team* team_ = nullptr;
  bool owns_team_ = false;
};

// The threads that a region started here and now would have; 1 inside of a region.
int NumThreads();

// Calls compute(context) once for each part of `parts` (see CurrentPlace), on the threads of the scope. Parts must not
// wait for each other.
void RunParts(int parts, PartFunction compute, void* context);

namespace internal {

// A loop that is shared out: each part begins with chunks of its own stretch and then takes from the others'.
class SharedLoop {
 public:
  SharedLoop(std::int64_t count, std::int64_t grain);

  int parts() const { return parts_; }

  // The next chunk for the calling part; false if none is left.
  bool Next(std::int64_t* begin, std::int64_t* end);

  // Chunks that are left are not given out; the first error of all is kept.
  void Fail(std::exception_ptr error);
  void Rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  static constexpr int kMaxStretches = 64;
  struct alignas(64) Stretch {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  std::int64_t chunk_;
  int parts_, stretches_;
  std::array<Stretch, kMaxStretches> stretch_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace internal

// Calls body(i) for 0 <= i < count, on the threads of the scope (of a scope of DefaultThreads() where there is none).
// Fewer than `grain` calls are not worth a thread. What body throws first is thrown here.
template <class Body>
void ParallelFor(std::int64_t count, std::int64_t grain, const Body& body) {
  if (count <= grain || NumThreads() == 1) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  struct Context {
    internal::SharedLoop loop;
    const Body& body;
  } context{{count, grain}, body};
  RunParts(
      context.loop.parts(),
      [](void* data) {
        auto& [loop, each] = *static_cast<Context*>(data);
        try {
          for (std::int64_t begin = 0, end = 0; loop.Next(&begin, &end);) {
            for (std::int64_t i = begin; i < end; ++i) each(i);
          }
        } catch (...) {
          loop.Fail(std::current_exception());
        }
      },
      &context);
  context.loop.Rethrow();
}

}  // namespace amp::kernels
