// Runs of operators and graphs that keep what their gradients read.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "passes/gradient/differentiable_graph.h"
#include "runtime/graph_runner.h"
#include "runtime/operator_runner.h"
#include "runtime/random_key.h"

namespace amp {

// One run of a graph, with the arrays that its backward half may read. Nothing in it changes.
class RecordedRun {
 public:
  // Runs the forward half. `inputs` go by the graph's inputs.
  RecordedRun(std::shared_ptr<GraphRunner> runner, std::shared_ptr<const DifferentiableGraph> graph,
              std::vector<NDArray> inputs, RandomKey key);

  // The outputs of the graph.
  std::vector<NDArray> Outputs() const;

  struct Result {
    std::vector<std::optional<NDArray>> gradients;        // by input; nullopt: zero
    std::vector<std::pair<std::size_t, NDArray>> states;  // {input, new value} of auxiliary states
    std::vector<bool> replaces;                           // by input: see ReplacesGradient
  };
  // Runs the backward half. `output_gradients` go by output; no gradient arrives where an array is not defined. Throws
  // UnsupportedError for an operator without a gradient.
  Result Backward(const std::vector<NDArray>& output_gradients, const std::vector<bool>& is_asked) const;

  struct Derivative {
    std::vector<std::optional<std::size_t>> gradients;  // by input: the output of `run` that it is, if not zero
    std::shared_ptr<RecordedRun> run;                   // nullptr where all are zero
  };
  // The gradients of Backward as outputs of a run that can itself be differentiated. Its inputs are the inputs, the
  // arrays of Kept(), and the output_gradients; `differentiable` tells those whose gradients may be asked for.
  Derivative Derive(const std::vector<NDArray>& output_gradients, const std::vector<bool>& is_asked,
                    const std::vector<bool>& differentiable) const;

  // There may be gradients where none arrives.
  bool OwnsGradient() const { return graph_->owns_gradient(); }

  // The outputs of the forward half: Outputs(), and what gradients read besides.
  const std::vector<NDArray>& Kept() const { return kept_; }

 private:
  GradientRequest RequestOf(const std::vector<NDArray>& output_gradients, const std::vector<bool>& is_asked) const;
  // For a function of the inputs, of Kept() and of the output_gradients.
  std::vector<NDArray> BackwardArrays(const std::vector<NDArray>& output_gradients) const;

  std::shared_ptr<GraphRunner> runner_;
  std::shared_ptr<const DifferentiableGraph> graph_;
  std::vector<NDArray> inputs_;
  RandomKey key_;
  std::vector<NDArray> kept_;
};

// Runs operators. May be used by several threads.
class Recorder {
 public:
  // Keeps so many plans, and the graphs of so many kinds of calls.
  explicit Recorder(std::size_t plans_kept) : runner_(std::make_shared<GraphRunner>(plans_kept)), graphs_(plans_kept) {}

  const std::shared_ptr<GraphRunner>& runner() const { return runner_; }
  // `is_asked` goes by array: those whose gradients may be asked for. Throws what OperatorRunner::Run throws.
  std::shared_ptr<RecordedRun> Run(const OperatorCall& call, std::vector<NDArray> arrays,
                                   const std::vector<bool>& is_asked, bool is_train, RandomKey key);

 private:
  std::shared_ptr<GraphRunner> runner_;
  RecentlyUsed<const DifferentiableGraph> graphs_;
};

}  // namespace amp
