// GradientExecutor: a symbol bound for training. One plan computes outputs, and then the gradients of its variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nnvm/symbol.h"
#include "program/plan_summary.h"
#include "runtime/bind_options.h"
#include "runtime/random_key.h"
#include "runtime/run_profile.h"

namespace amp {

// Where the gradient of one variable goes.
struct GradientTarget {
  NDArray array;      // of the variable's type
  bool adds = false;  // to what the array holds; else it is overwritten
};

struct GradientBindOptions {
  // Batch norms use the statistics of the batch, dropout drops. Otherwise everything is as at inference.
  bool is_train = true;
  // The most bytes of results that may be kept from the forward half for the backward half; what does not fit is
  // computed again, the cheapest first, products last. An impossible budget is an error that says the smallest one.
  std::optional<std::int64_t> memory_budget = {};
  // Tuning, monitored runs and forced kernels are for inference: they are errors here.
  BindOptions bind = {};
};

// Told the position of a target that holds its gradient while others are still computed. Those that it is not told do
// when the run ends.
using GradientObserver = std::function<void(std::size_t target)>;

class GradientExecutor {
 public:
  // `variable_types`: shape and dtype (float32 where unknown) of every argument and auxiliary state; those that follow
  // from others, such as labels', may be missing. `differentiated`:
  // the variables whose gradients are computed. Nothing is folded or cast at bind time: every run sees what the arrays
  // hold. Throws ArgumentError, GraphError or UnsupportedError (an operator without a gradient).
  GradientExecutor(const Symbol& symbol, const TypeMap& variable_types, const std::vector<std::string>& differentiated,
                   const GradientBindOptions& options);
  ~GradientExecutor();

  // Another one of the same plan with memory of its own, so that several forward runs can await their backward runs.
  std::unique_ptr<GradientExecutor> Clone() const;

  // Variables that a run reads, in the order of the arrays of Forward; gradients of outputs are no inputs.
  const std::vector<std::string>& input_names() const;
  const std::vector<TensorType>& input_types() const;
  const std::vector<std::string>& output_names() const;
  const std::vector<TensorType>& output_types() const;
  // The differentiated variables, in the order of the targets of Backward.
  const std::vector<std::string>& gradient_names() const;
  const std::vector<TensorType>& gradient_types() const;
  // Whether what such a target holds is overwritten although the gradient is to be added; see ReplacesGradient.
  std::vector<bool> gradient_replaces() const;
  // Auxiliary states that a backward run moves.
  const std::vector<std::string>& state_names() const;
  // A sentence for the user where the binding is not what was asked for, else "".
  const std::string& notice() const;
  // After conversion, before gradients.
  const Symbol& symbol() const;
  // What monitors are to see: the same before the machine took low precision back.
  const Symbol& symbol_as_converted() const;
  const PlanSummary& summary() const;

  // Row-major arrays in the order of input_names(). The executor keeps them and the results until the next call: they
  // must not change before Backward. Throws ArgumentError as Executor::Run does.
  std::vector<NDArray> Forward(const std::vector<NDArray>& inputs, const RandomKey& key = {});

  // Computes the gradients of sum(output * its gradient) for the last forward run, and moves auxiliary states, in
  // the arrays that Forward was given. `output_gradients` go by output: an undefined array is ones; an empty vector is
  // ones for all. `retain`: another Backward may follow; it computes the forward half again. Throws ArgumentError for
  // arrays that do not fit, and where no forward run waits for it.
  void Backward(const std::vector<NDArray>& output_gradients, const std::vector<GradientTarget>& gradients,
                bool retain = false, const GradientObserver& observer = nullptr);

  // Which implementations the sums of products of bfloat16 ran since the last call, in graph order.
  std::vector<AlternateCounts> TakeAlternateCounts();
  // What their bfloat16 instructions made zero, where BindOptions::count_denormals was set; else empty.
  std::vector<FlushedCounts> TakeFlushedCounts();

  // Runs forward and backward `runs` times and once before that, and tells where the time went. States do not move.
  RunProfile Profile(const std::vector<NDArray>& inputs, int runs);

 private:
  struct Binding;
  struct Pending;
  explicit GradientExecutor(std::shared_ptr<const Binding> binding);
  static std::function<void(std::size_t)> ByTarget(const Binding& binding, const std::vector<GradientTarget>& targets,
                                                   const GradientObserver& observer);

  std::shared_ptr<const Binding> binding_;
  std::unique_ptr<Pending> pending_;
};

}  // namespace amp
