// Marks what a thread computes as part of a backward pass.
#pragma once

namespace amp {

// Operators that the thread runs on arrays count as backward ones, or as forward ones, until the end of the scope. What
// held before holds again then. Whoever hands work to another thread hands the value over.
class BackwardGuard {
 public:
  explicit BackwardGuard(bool is_backward = true) : before_(current_) { current_ = is_backward; }
  ~BackwardGuard() { current_ = before_; }
  BackwardGuard(const BackwardGuard&) = delete;
  BackwardGuard& operator=(const BackwardGuard&) = delete;

  static bool IsBackward() { return current_; }

 private:
  static inline thread_local bool current_ = false;
  const bool before_;
};

}  // namespace amp
