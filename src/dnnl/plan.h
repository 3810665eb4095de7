// A Plan is what a graph becomes for given shapes, options and thread count: immutable, shared by any number of
// sessions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nnvm/ndarray.h"

namespace amp::onednn {

struct PlanStep {
  std::string node;                     // the graph node that it belongs to
  std::string work;                     // "convolution", "reorder", ...
  std::string implementation;           // oneDNN's name of the kernel, "own" or "reference"
  std::string layout;                   // of the output
  std::string reason;                   // of reorders and fallbacks
  std::vector<std::string> fused = {};  // the nodes whose work is done with it
};

// What people want to know about a plan.
struct PlanSummary {
  std::vector<PlanStep> steps;
  std::size_t arena_bytes = 0;
  std::size_t constant_bytes = 0;
  int num_threads = 0;
  int num_reorders = 0;    // run-time ones
  int num_references = 0;  // nodes on reference kernels

  std::string Print() const;
};

class CompiledPlan;  // holds oneDNN objects

struct Plan {
  std::vector<std::string> input_names;
  std::vector<TensorType> input_types;
  std::vector<TensorType> output_types;
  PlanSummary summary;
  std::shared_ptr<const CompiledPlan> compiled;
};

// Owns the arena and the handles of one plan. Not for concurrent use.
class Session {
 public:
  explicit Session(std::shared_ptr<const Plan> plan);
  ~Session();

  // Row-major arrays of exactly the plan's types, in its order; outputs must not overlap anything else.
  // None of our own code allocates here after the first call, reference kernels aside.
  void Run(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs);
  // The same, with the seconds of each step.
  void RunProfiled(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs, std::vector<double>* seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace amp::onednn
