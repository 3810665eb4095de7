// One run of an executor at a time, in one process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <mutex>

namespace amp::onednn {

class RunLock {
 public:
  // Held during a run. Throws Error in a child process that was forked during a run: it inherits the lock, but not the
  // thread that holds it.
  class Holder {
   public:
    explicit Holder(RunLock* lock);
    ~Holder() { lock_->process_ = 0; }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

   private:
    RunLock* lock_;
    std::unique_lock<std::mutex> held_;
  };

 private:
  std::mutex mutex_;
  std::atomic<pid_t> process_{0};  // that of the run under way
};

}  // namespace amp::onednn
