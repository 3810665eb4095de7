#include "program/threads.h"

#include "kernels/threads/fork.h"
#include "kernels/threads/thread_count.h"
#include "nnvm/error.h"

namespace amp {

int EffectiveThreads(int requested) {
  constexpr int kMaxThreads = 1024;
  if (requested < 0 || requested > kMaxThreads) {
    Throw<ArgumentError>("num_threads: expected 0 (all) to {}, got {}", kMaxThreads, requested);
  }
  if (kernels::ThreadsLost()) return 1;
  return requested == 0 ? kernels::DefaultThreads() : requested;
}

void RequireThreads(int count) {
  if (count > 1 && kernels::ThreadsLost()) {
    throw Error(
        "this process was forked from one that had already run with several threads, and an executor of the "
        "parent cannot run here: build a new Executor in the child (it will use one thread), or start the "
        "child with the 'spawn' method");
  }
}

}  // namespace amp
