// BodyPlans: what compilation asks for where a graph has bodies of control flow.
#pragma once

#include <cstddef>
#include <memory>

#include "program/body_runner.h"

namespace amp::onednn {

class ConstantStore;
struct CompileOptions;

class BodyPlans {
 public:
  virtual ~BodyPlans() = default;
  // The runner of a body, planned with these options. The store has the parameters that the request names, until the
  // plan that asked is made. For one thread at a time, which holds the store's lock.
  virtual std::shared_ptr<const BodyRunner> RunnerOf(const BodyRequest& request, const CompileOptions& options,
                                                     const ConstantStore& store) = 0;
  virtual std::size_t constant_bytes() const = 0;
};

}  // namespace amp::onednn
