// Thread counts: a plan is built for one count, and every run uses exactly that.
#pragma once

namespace amp::onednn {

// The count that a request of 0 ("whatever the machine offers") or n means here and now. 1 in a child process that was
// forked after threads had been started: their pool does not survive a fork.
int EffectiveThreads(int requested);

// Throws Error in a process in which `count` threads cannot run (see above).
void RequireThreads(int count);

// Sets the OpenMP thread count of the calling thread and restores it at the end of the scope.
class ThreadScope {
 public:
  explicit ThreadScope(int count);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int previous_;
};

}  // namespace amp::onednn
