// Operators on arrays, one at a time: what a graph of one node computes.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dnnl/executor.h"

namespace amp {

// Keeps the plans of the uses that were the most recent. May be used by several threads.
class OperatorRunner {
 public:
  explicit OperatorRunner(std::size_t plans_kept) : plans_kept_(plans_kept) {}

  // The visible outputs of the operator. Inputs come by position, then by name; each that the operator has must be
  // there. Throws GraphError (the operator does not accept the inputs), ArgumentError or UnsupportedError.
  std::vector<NDArray> Run(const std::string& op, const AttrMap& attrs, const std::vector<NDArray>& positional,
                           const std::map<std::string, NDArray>& by_name);

 private:
  // One kind of use: an operator with its attributes on arrays of certain types.
  struct Use {
    std::string key;
    std::shared_ptr<Executor> executor;
    std::vector<std::size_t> order;  // of the executor's inputs among the arrays
  };
  Use FindUse(const std::string& key);
  void KeepUse(const Use& use);

  const std::size_t plans_kept_;
  std::mutex mutex_;
  std::list<Use> uses_;  // the most recent one first
  std::map<std::string, std::list<Use>::iterator> by_key_;
};

}  // namespace amp
