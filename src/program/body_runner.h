// Bodies of control flow as plans: what an operator's definition asks for, and what a back end makes of it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nnvm/shape.h"

namespace amp {

class ControlFlowBody;

// What one run of a body has to do.
struct BodyWork {
  double flops = 0;
  std::size_t num_steps = 0;
  std::vector<std::string> references = {};  // the nodes that run on reference code
};

class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  // Which variables of the body a run reads, in the order of its inputs.
  virtual const std::vector<std::size_t>& variables() const = 0;
  virtual const BodyWork& work() const = 0;
  // Row-major arrays of the types that it was made for. Outputs must not overlap anything else. For any number of
  // threads at once.
  virtual void Run(std::span<const void* const> inputs, std::span<void* const> outputs) const = 0;
};

struct BodyRequest {
  std::string key;  // the same whenever the same graph is lowered; no other body of the model has it
  const ControlFlowBody& body;
  std::vector<TensorType> inputs;  // by variable
  // For each variable the value name of the parameter that it is in every run, or "" where it changes.
  std::vector<std::string> parameters;
};

// Throws what binding a model throws.
using BodyPlanner = std::function<std::shared_ptr<const BodyRunner>(const BodyRequest& request)>;

}  // namespace amp
