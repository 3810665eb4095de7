// A graph that runs first and is differentiated afterwards: its two halves as graphs of their own.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nnvm/symbol.h"

namespace amp {

// For which outputs gradients arrive, and which inputs ask for theirs.
struct GradientRequest {
  std::vector<bool> has_gradient;  // by output
  std::vector<bool> is_asked;      // by input

  auto operator<=>(const GradientRequest&) const = default;
};

// What is left to do when the forward half has run.
struct BackwardHalf {
  Symbol symbol;
  std::vector<std::optional<std::size_t>> gradients;        // by input: the output that is its gradient, if not zero
  std::vector<std::pair<std::size_t, std::size_t>> states;  // {input, output}: auxiliary states and their new values
  std::vector<bool> replaces;                               // by input: see ReplacesGradient
};

// May be used by several threads.
class DifferentiableGraph {
 public:
  // `inputs` names all variables of the symbol. Gradients may be asked for where `is_asked` says so: what they read
  // becomes an output of the forward half. With `is_train` the graph is in training form.
  DifferentiableGraph(const Symbol& symbol, std::vector<std::string> inputs, std::vector<bool> is_asked, bool is_train);

  // No other graph has the same.
  std::uint64_t id() const { return id_; }
  std::size_t num_inputs() const { return inputs_.size(); }
  // The number of the symbol's outputs; the forward half has them first.
  std::size_t num_outputs() const { return num_outputs_; }
  // Runs depend on kRandomKey.
  bool is_random() const { return is_random_; }
  // An operator has a gradient of its own: there may be gradients where none arrives.
  bool owns_gradient() const { return owns_gradient_; }

  const Symbol& forward() const { return forward_; }
  // What the forward half is a function of: the inputs and the random key.
  std::vector<std::string> ForwardVariables() const;
  // What the backward half is a function of: the inputs, the outputs of the forward half, the gradients of the
  // symbol's outputs, and the random key.
  std::vector<std::string> BackwardVariables() const;

  // Throws UnsupportedError for an operator without a gradient.
  std::shared_ptr<const BackwardHalf> Backward(const GradientRequest& request) const;
  // What BackwardHalf::gradients refers to as a graph that can itself be differentiated with
  // respect to what `is_asked` says of BackwardVariables() without the random key. It computes again what it reads
  // of the forward half besides the symbol's outputs.
  std::shared_ptr<const DifferentiableGraph> Derived(const GradientRequest& request,
                                                     const std::vector<bool>& is_asked) const;

 private:
  using Named = std::map<std::pair<const Node*, std::uint32_t>, std::string>;

  // Gradients by input, then new values of states.
  struct Gradients {
    std::vector<std::optional<NodeEntry>> by_input;
    std::vector<std::pair<std::size_t, NodeEntry>> states;
  };
  Gradients Differentiate(const GradientRequest& request) const;
  void KeepWhatGradientsRead(const std::vector<bool>& is_asked);
  // The first `count` outputs of the forward half under the names by which the backward half knows them.
  Named OutputsByName(std::size_t count) const;

  const std::uint64_t id_;
  const std::vector<std::string> inputs_;
  std::map<std::string, std::size_t> input_ids_;
  std::size_t num_outputs_ = 0;
  bool is_train_;
  Symbol forward_;
  bool is_random_ = false, owns_gradient_ = false;

  mutable std::mutex mutex_;
  mutable std::map<GradientRequest, std::shared_ptr<const BackwardHalf>> backward_;
  mutable std::map<std::pair<GradientRequest, std::vector<bool>>, std::shared_ptr<const DifferentiableGraph>> derived_;
};

}  // namespace amp
