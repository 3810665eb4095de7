// Operators on arrays, one at a time: what a graph of one node computes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/graph_runner.h"

namespace amp {

// An operator on arrays that come by position, then by the names of inputs. Each input that it has must be there.
struct OperatorCall {
  std::string op;
  AttrMap attrs;
  std::size_t num_positional = 0;
  std::vector<std::string> names;

  // Equal for equal calls.
  std::string Key() const;
  // The node over variables "in0", "in1", ... Throws GraphError (the operator does not accept the inputs),
  // ArgumentError or UnsupportedError.
  GraphOverArrays Graph() const;
};

// Keeps the plans of the uses that were the most recent. May be used by several threads.
class OperatorRunner {
 public:
  explicit OperatorRunner(std::size_t plans_kept) : runner_(plans_kept) {}

  // The visible outputs of the operator. Throws what OperatorCall::Graph and Executor throw.
  std::vector<NDArray> Run(const OperatorCall& call, const std::vector<NDArray>& arrays) {
    return runner_.Run(call.Key(), arrays, [&] { return call.Graph(); });
  }

 private:
  GraphRunner runner_;
};

}  // namespace amp
