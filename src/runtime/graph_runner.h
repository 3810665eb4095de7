// Graphs on arrays: each is bound for the types of the arrays that it runs on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/executor.h"
#include "runtime/recently_used.h"

namespace amp {

// A symbol, and its variables in the order of the arrays of a call. Names that the symbol lacks are not read.
struct GraphOverArrays {
  Symbol symbol;
  std::vector<std::string> variables;
};

// Keeps the plans that were used most recently. May be used by several threads.
class GraphRunner {
 public:
  explicit GraphRunner(std::size_t plans_kept) : plans_(plans_kept) {}

  // The outputs of the graph that `key` stands for; `make` is called where there is no plan for it and these types.
  // Throws what Executor throws.
  std::vector<NDArray> Run(const std::string& key, const std::vector<NDArray>& arrays,
                           const std::function<GraphOverArrays()>& make);

 private:
  struct Plan {
    std::unique_ptr<Executor> executor;
    std::vector<std::size_t> order;  // of the executor's inputs among the arrays
  };
  static std::shared_ptr<Plan> Bind(const GraphOverArrays& graph, const std::vector<NDArray>& arrays);

  RecentlyUsed<Plan> plans_;
};

// Adds text to a key such that no two lists of texts give the same one.
void AppendToKey(const std::string& text, std::string* key);

}  // namespace amp
