#include "runtime/run_lock.h"

#include <unistd.h>

#include "nnvm/error.h"

namespace amp::onednn {

RunLock::Holder::Holder(RunLock* lock) : lock_(lock) {
  const pid_t running = lock->process_;
  if (running != 0 && running != getpid()) {
    throw Error("this process was forked while the executor was running: build a new Executor in the child");
  }
  held_ = std::unique_lock(lock->mutex_);
  lock->process_ = getpid();
}

}  // namespace amp::onednn
