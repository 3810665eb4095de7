#include "dnnl/threads.h"

#include <omp.h>

#include "kernels/fork.h"
#include "nnvm/error.h"

namespace amp::onednn {

int EffectiveThreads(int requested) {
  constexpr int kMost = 1024;  // far beyond it the run-time library ends the process
  if (requested < 0 || requested > kMost) {
    Throw<ArgumentError>("num_threads: expected 0 (all) to {}, got {}", kMost, requested);
  }
  if (kernels::ThreadsLost()) return 1;
  // The caller's own setting (OMP_NUM_THREADS, or omp_set_num_threads by another library) is the default.
  return requested == 0 ? omp_get_max_threads() : requested;
}

void RequireThreads(int count) {
  if (count > 1 && kernels::ThreadsLost()) {
    throw Error(
        "this process was forked from one that had already run with several threads, and an executor of the "
        "parent cannot run here: build a new Executor in the child (it will use one thread), or start the "
        "child with the 'spawn' method");
  }
}

ThreadScope::ThreadScope(int count) : previous_(omp_get_max_threads()) {
  if (count > 1) kernels::NoteThreadsStarted();
  omp_set_num_threads(count);
}

ThreadScope::~ThreadScope() { omp_set_num_threads(previous_); }

}  // namespace amp::onednn
