// Marks what a thread computes as part of a backward pass.
#pragma once

namespace amp {

// Operators that the thread runs on arrays count as backward ones, or as forward ones, until the end of the scope. What
// held before holds again then. Whoever hands work to another thread hands the value over.
class BackwardGuard {
 public:
  explicit BackwardGuard(bool is_backward = true);
  ~BackwardGuard();
  BackwardGuard(const BackwardGuard&) = delete;
  BackwardGuard& operator=(const BackwardGuard&) = delete;

  static bool IsBackward();

 private:
  const bool before_;
};

}  // namespace amp
