// Sessions: runs of a plan.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "dnnl/plan.h"

namespace amp::onednn {

// Owns the arena and the handles of one plan. Not for concurrent use.
class Session {
 public:
  explicit Session(std::shared_ptr<const Plan> plan);
  ~Session();

  // Row-major arrays of exactly the plan's types, in its order; outputs must not overlap anything else. The
  // process must be able to run the plan's threads, see RequireThreads. None of our own code allocates here after the
  // first call, reference kernels aside.
  void Run(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs);
  // The same on the memory of such arrays.
  void Run(std::span<const void* const> inputs, std::span<void* const> outputs);
  // The first, with the seconds of each step.
  void RunProfiled(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs, std::vector<double>* seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace amp::onednn
